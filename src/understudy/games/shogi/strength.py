"""How strong a model is: its policy alone and with search, against well-known players, in one rating list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from understudy.games.shogi.actions import BLACK
from understudy.games.shogi.arena_players import contestant
from understudy.games.shogi.opponents import network_player
from understudy.games.shogi.players import ShogiPlayer, play_match
from understudy.games.shogi.record import GameRecord
from understudy.games.shogi.score import ContestScore
from understudy.games.shogi.usi_process import find_engines
from understudy.models.rating_table import show
from understudy.models.ratings import PairResults, Ratings, fit

LEVELS = (-20, -10, -5, 0, 3, 5)
"""Of fairy-stockfish."""
DEPTHS = (1, 2, 3)
"""Of GNU Shogi; with a fixed depth, its answers do not depend on the speed of the machine."""
NODES = (0, 200, 800)
"""Of the model; 0 is its policy without search."""
_LOST, _WON = 0.1, 0.95
_AGAINST_MODEL = 400  # games
_GOALS = ((15, 0), (60, 3))  # minutes, and fairy-stockfish's level against which 800 nodes then win half of the games


def fairy_stockfish(level: int) -> str:
    """Fairy-stockfish with this skill level and 100 ms per move, as named in `understudy arena`."""
    return f"fairy-stockfish@byoyomi 100,Skill Level={level}"


def ladders() -> list[list[str]]:
    """The opponents of each kind on this machine, the weakest first, as named in `understudy arena`."""
    installed = find_engines()
    found = [["random", "greedy"]]
    if "fairy-stockfish" in installed:
        found.append([fairy_stockfish(level) for level in LEVELS])
    if "gnushogi" in installed:
        found.append([f"gnushogi@Depth={depth}" for depth in DEPTHS])
    return found


class Strength:
    """Matches of one model with increasing numbers of nodes, up each ladder until it loses nearly all games."""

    def __init__(self, model: Path, games: int, say: Callable[[str], None], seed: int = 0) -> None:
        self._model, self._games, self._say, self._seed = model, games, say, seed
        self.scores: dict[tuple[str, str], ContestScore] = {}
        """By the name of the model with its nodes, and the opponent's name."""
        self._results: list[PairResults] = []

    def climb(self, ladders: Sequence[Sequence[str]], nodes: Sequence[int] = NODES) -> None:
        """Play the matches. With more nodes, opponents are skipped that it has nearly always beaten with fewer."""
        beaten: set[str] = set()
        for count in nodes:
            for ladder in ladders:
                for opponent in ladder:
                    if opponent in beaten:
                        continue
                    score = self._meet(count, opponent)
                    if score.share >= _WON:
                        beaten.add(opponent)
                    if score.share < _LOST:
                        break

    def against(self, other: Path, games: int) -> ContestScore:
        """Play the policy against another model's policy, both without search."""
        ours, theirs = network_player(self._model, 0, self._seed), network_player(other, 0, self._seed + 1)
        return self._play((name_of(0), ours), (f"{other}, policy", theirs), games)

    def ratings(self) -> Ratings:
        """All players in one list, in which the random player has 0."""
        return fit(self._results, {"random": 0.0})

    def _meet(self, nodes: int, opponent: str) -> ContestScore:
        lots = np.random.default_rng([self._seed, nodes])
        ours = network_player(self._model, nodes, self._seed)
        with contestant(opponent, lots) as theirs:
            return self._play((name_of(nodes), ours), (opponent, theirs), self._games)

    def _play(self, one: tuple[str, ShogiPlayer], other: tuple[str, ShogiPlayer], games: int) -> ContestScore:
        results: dict[bool, list[float]] = {True: [], False: []}  # of Black, by whether Black was `one`

        def note(number: int, record: GameRecord) -> None:
            assert record.result is not None
            results[number % 2 == 1].append(record.result.for_player(BLACK))

        names = one[0], other[0]
        score = play_match(one[1], other[1], games, np.random.default_rng(self._seed), on_game=note)
        self._results.append(_counted(names, results[True]))
        self._results.append(_counted(names[::-1], results[False]))
        self.scores[names] = score
        self._say(f"{names[0]} against {names[1]}: {score}")
        return score


def name_of(nodes: int) -> str:
    """The name of the model with this many nodes in the list."""
    return f"{nodes} nodes" if nodes else "policy"


def _counted(names: Sequence[str], results: Sequence[float]) -> PairResults:
    won, drawn, lost = (results.count(result) for result in (1.0, 0.0, -1.0))
    return PairResults(names[0], names[1], won, drawn, lost)


def measure_strength(
    model: Path, minutes: float, games: int, seed: int, other: Path | None = None, say: Callable[[str], None] = print
) -> bool:
    """Play all matches and show the rating list; True if the model is as strong as expected after these minutes."""
    strength = Strength(model, games, say, seed)
    strength.climb(ladders())
    if other is not None:
        strength.against(other, _AGAINST_MODEL)
    ratings = strength.ratings()
    show(ratings, {row.player for row in ratings.table}, say)
    reached = True
    for match, goal in goals(minutes).items():
        if (score := strength.scores.get(match)) is not None:
            reached &= score.share >= goal
            say(f"{' against '.join(match)}: {score.share:.0%} of the points (goal {goal:.0%})")
    return reached


def goals(minutes: float) -> dict[tuple[str, str], float]:
    """The share of the points that a model should win after this much training, by match."""
    levels = [level for least, level in _GOALS if minutes >= least]
    return {(name_of(800), fairy_stockfish(level)): 0.5 for level in levels}
