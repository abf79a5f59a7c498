"""The arena: versions, runs and scripted opponents play each other, and are rated together."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path

from understudy.check.arena_command import MANY
from understudy.check.contestants import contestants_of, game_of_run
from understudy.errors import SettingsError, UnderstudyError
from understudy.flags import existing_run, nearest
from understudy.ledger.arena import ArenaGame, ArenaLedger
from understudy.machine.priority import lower_priority
from understudy.models.rating_table import show
from understudy.models.ratings import PairResults, Ratings, fit
from understudy.models.sprt import Sprt
from understudy.parallel.arena import ArenaPlayer, can_meet, play_pairs

_PAIRS_AT_ONCE = 5
_SHOW_SECONDS = 1.0
_MOST_FAILURES = 3  # failed batches before two contestants stop playing each other
_MATCH_GAMES, _MOST_MATCH_GAMES = 20, 2000  # without and with a test
_Two = tuple[ArenaPlayer, ArenaPlayer]


def run_arena(options: argparse.Namespace) -> int:
    """Play the requested games and print the ratings."""
    run = next((existing_run(name.partition("@")[0]) for name in options.contestants if _is_run(name)), None)
    if run is None:
        raise SettingsError("At least one contestant must be a run directory: the games are recorded there.")
    game = options.game or game_of_run(run)
    players = contestants_of(options.contestants, game)
    anchors = _anchors(options.anchor)
    if options.sprt is not None and len(players) != 2:
        raise SettingsError(f"--sprt compares two contestants, not {len(players)}.")
    test = Sprt.asked(options.sprt)
    with ArenaLedger(run.ledger) as ledger:
        known = {player.name for player in players}.union(*ledger.results(game))
        if unknown := anchors.keys() - known:
            raise SettingsError(f"--anchor: nobody is called {min(unknown)!r}{nearest(min(unknown), known)}.")
        arena = Arena(game, players, ledger, options.games, options.pairing, test)
        try:
            arena.play(options.workers)
        except KeyboardInterrupt:
            print("\nStopped; the games played so far are recorded, and the same command continues.", file=sys.stderr)
        show(rated(ledger, game, anchors), {player.name for player in players})
        if test is not None:
            print(arena.verdict())
    return 0


def run_match(options: argparse.Namespace) -> int:
    """Play an arena of two contestants, at least one of them a run, which plays the version on stage."""
    if options.clock or options.save:
        raise SettingsError("--clock and --save cannot be used when a run directory plays.")
    names = (f"{name}@stage" if Path(name).is_dir() else name for name in (options.first, options.second))
    games = options.games or (_MATCH_GAMES if options.sprt is None else _MOST_MATCH_GAMES)
    asked = {"game": options.game, "pairing": "all", "anchor": [], "workers": os.cpu_count() or 1, "sprt": options.sprt}
    return run_arena(argparse.Namespace(contestants=list(names), games=games, **asked))


def _is_run(name: str) -> bool:
    return Path(name.partition("@")[0]).is_dir()


class Arena:
    """Plays the games that are still missing, and records each batch as soon as it ends."""

    def __init__(
        self,
        game: str,
        players: Sequence[ArenaPlayer],
        ledger: ArenaLedger,
        games: int,
        pairing: str,
        test: Sprt | None = None,
    ) -> None:
        if len(players) < 2:
            raise SettingsError("An arena needs at least two contestants.")
        self._game, self._players, self._ledger, self._test = game, players, ledger, test
        self._most = (games + 1) // 2  # pairs
        auto = "uncertain" if len(players) >= MANY else "all"
        self._pairing = auto if pairing == "auto" else pairing
        all_pairs = [two for two in itertools.combinations(players, 2) if can_meet(game, *two)]
        self._meet = [two for two in all_pairs if two[0] is players[0]] if pairing == "gauntlet" else all_pairs
        if not self._meet:
            raise SettingsError(
                f"No two of these contestants have a game of {game} to play. Versions of a game of one player meet in "
                "its evaluation games, which need an evaluator (docs/add-a-game.md)."
            )
        self._done = {two: set(ledger.pairs(game, two[0].name, two[1].name)) for two in self._meet}
        self._given = {two: set(pairs) for two, pairs in self._done.items()}
        # With uncertain pairing, a few games of each pair show which pairs need more.
        self._budget = self._most * len(players) * 2 if self._pairing == "uncertain" else self._most * len(self._meet)
        self._failures: Counter[_Two] = Counter()
        self._told = 0.0

    def play(self, workers: int) -> None:
        """Play all batches."""
        if workers == 1:
            for two, pairs in self._batches():
                try:
                    self._take_in(two, play_pairs(self._game, *two, pairs))
                except UnderstudyError as error:
                    self._give_back(two, pairs, error)
            self._show(end=True)
            return
        batches = self._batches()
        under_way: dict[Future[list[ArenaGame]], tuple[_Two, list[int]]] = {}
        pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=lower_priority)
        try:
            while True:
                for two, pairs in itertools.islice(batches, max(workers - len(under_way), 0)):
                    under_way[pool.submit(play_pairs, self._game, *two, pairs)] = two, pairs
                if not under_way:
                    break
                for future in wait(under_way, _SHOW_SECONDS, return_when=FIRST_COMPLETED).done:
                    two, pairs = under_way.pop(future)
                    try:
                        self._take_in(two, future.result())
                    except UnderstudyError as error:
                        self._give_back(two, pairs, error)
                        batches = self._batches()  # the previous iterator may have ended
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        self._show(end=True)

    def _give_back(self, two: _Two, pairs: Sequence[int], error: UnderstudyError) -> None:
        """Put back a batch that failed, for example because an engine died. A pair that keeps failing is left out."""
        self._given[two].difference_update(pairs)
        self._failures[two] += 1
        one, other = (player.name for player in two)
        print(f"{one} against {other}: {error}", file=sys.stderr)
        if self._failures[two] < _MOST_FAILURES:
            return
        if self._test is not None:
            raise error
        print(f"{one} and {other} play each other no more: {_MOST_FAILURES} batches failed.", file=sys.stderr)
        missing = self._most - len(self._done[two])
        self._budget -= missing if self._pairing != "uncertain" else 0
        self._meet.remove(two)

    def _batches(self) -> Iterator[tuple[_Two, list[int]]]:
        """The batches to play next, until no games are left or the test has decided."""
        while not (self._test is not None and self._decided()):
            two = self._next()
            if two is None:
                return
            free = (number for number in itertools.count() if number not in self._given[two])
            left = min(_PAIRS_AT_ONCE, self._most, self._left(two))
            pairs = list(itertools.islice(free, left))
            self._given[two].update(pairs)
            yield two, pairs

    def _left(self, two: _Two) -> int:
        if self._pairing == "uncertain":
            return self._budget - sum(map(len, self._given.values()))
        return self._most - len(self._given[two])

    def _next(self) -> _Two | None:
        open_pairs = [two for two in self._meet if self._left(two) > 0]
        if self._pairing == "uncertain" and open_pairs:
            return self._least_certain(open_pairs)
        return min(open_pairs, key=lambda two: len(self._given[two]), default=None)

    def _least_certain(self, open_pairs: Sequence[_Two]) -> _Two:
        """The pairs to play next: first those with the fewest games, then those whose order is least certain."""
        played: Counter[str] = Counter()
        for two in self._meet:
            for player in two:
                played[player.name] += len(self._given[two])
        newest = min(open_pairs, key=lambda two: (sum(played[player.name] for player in two), len(self._given[two])))
        fitted = rated(self._ledger, self._game, {})
        known = {row.player for row in fitted.table}
        if not {player.name for two in open_pairs for player in two} <= known:
            return newest

        def unsure(two: _Two) -> float:
            p = fitted.superiority(two[0].name, two[1].name)
            return p * (1 - p) / (1 + len(self._given[two]))

        return max(open_pairs, key=unsure)

    def _take_in(self, two: _Two, games: list[ArenaGame]) -> None:
        self._ledger.record(self._game, games)
        self._done[two] |= {pair for _, _, pair, _ in games}
        self._show()

    def _scores(self) -> list[float]:
        one, other = self._meet[0]
        return list(self._ledger.pairs(self._game, one.name, other.name).values())

    def _decided(self) -> bool:
        return self._test is not None and self._test.decided(self._scores()) is not None

    def verdict(self) -> str:
        """The result of the sequential test between two contestants."""
        assert self._test is not None
        one, other = self._meet[0]
        return self._test.verdict(one.name, other.name, self._scores())

    def _show(self, *, end: bool = False) -> None:
        if not end and time.monotonic() < self._told + _SHOW_SECONDS:
            return
        self._told = time.monotonic()
        done = 2 * sum(map(len, self._done.values()))
        text = f"{done}/{2 * self._budget} games"
        if self._test is not None:
            text += f", {self._test.progress(self._scores())}"
        print(text, end="\n" if end or not sys.stdout.isatty() else "\r", flush=True)


def rated(ledger: ArenaLedger, game: str, anchors: Mapping[str, float]) -> Ratings:
    """Ratings from one fit over all games in a ledger."""
    found = ledger.results(game)
    played = {name for two in found for name in two}
    return fit(
        [as_results(two, counts) for two, counts in found.items()], {n: e for n, e in anchors.items() if n in played}
    )


def as_results(two: tuple[str, str], counts: Counter[int]) -> PairResults:
    """The games of two players, as input to the rating fit."""
    return PairResults(*two, counts[1], counts[0], counts[-1])


def _anchors(given: Sequence[str]) -> dict[str, float]:
    anchors = {}
    for text in given:
        name, _, elo = text.rpartition("=")
        try:
            anchors[name] = float(elo)
        except ValueError:
            name = ""
        if not name:
            raise SettingsError(f"--anchor {text}: an anchor is written NAME=ELO, for example random=0.")
    return anchors
