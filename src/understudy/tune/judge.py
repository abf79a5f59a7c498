"""Is one model better than another? Both play the same games, and the gate's sequential test decides.

If the game has an evaluator, its evaluation games are played. Otherwise, games for one player use the same seeds and
the most probable actions, and in games for two players the models play each other, on both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from understudy.check.evaluation import FIRST_SEED, Play
from understudy.games.game import open_game
from understudy.games.spec import find_game, play_evaluation
from understudy.models.evidence import Played, SequentialTest, difference
from understudy.models.live import LiveModel
from understudy.models.state import read_model

_SCORES = {"W": 1.0, "T": 0.5, "L": 0.0}
_AT_ONCE = 50  # games between two evaluations of the evidence
_HOPELESS = 0.02  # share of the capital: a model whose test has lost more than that is not better


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of the games between a candidate and an incumbent."""

    better: bool
    games: int
    mean: float
    """The mean of the comparisons, each between -1 (always worse) and 1."""
    evidence: float
    needed: float

    def __str__(self) -> str:
        result = "better" if self.better else "not shown to be better"
        return (
            f"{result} in {self.games} games (mean comparison {self.mean:+.2f}; "
            f"evidence {self.evidence:.3g}, {self.needed:.3g} is enough)"
        )


class Referee:
    """Plays evaluation games of one game."""

    def __init__(self, game: str) -> None:
        self._game = game
        self._evaluator = find_game(game).evaluator

    def play(self, model: Path, other: Path, first: int, games: int) -> list[Played]:
        """The results of a model in these games; `other` is its opponent in a game for two players."""
        if self._evaluator is not None:
            return [Played(_SCORES[result]) for result in play_evaluation(self._evaluator, model, first, games)[0]]
        matches = open_game(self._game, games)
        try:
            duel = matches.players == 2
            opponent = LiveModel(read_model(other)) if duel else None
            play = Play(matches, LiveModel(read_model(model)), duel, FIRST_SEED + first, opponent)
            sides = [number % 2 for number in range(games)] if duel else None
            returns, _ = play.returns(games, sides)
        finally:
            matches.close()
        if not duel:
            return [Played(None, value) for value in returns]
        return [Played(0.5 + float(np.sign(value)) / 2) for value in returns]

    def score(self, model: Path, base: Path, games: int) -> float:
        """The mean of points or, without points, of returns, by which trials are ranked."""
        played = self.play(model, base, 0, games)
        return float(np.mean([game.reward if game.score is None else game.score for game in played]))

    def compare(self, candidate: Path, incumbent: Path, first: int, games: int) -> list[float]:
        """One comparison in [-1, 1] for each game."""
        ours = self.play(candidate, incumbent, first, games)
        if self._evaluator is None and ours[0].score is not None:  # they have played against each other
            return [2.0 * (game.score or 0.0) - 1.0 for game in ours]
        theirs = self.play(incumbent, candidate, first, games)
        return [difference([mine], [other]) for mine, other in zip(ours, theirs, strict=True)]


def judge(
    referee: Referee,
    candidate: Path,
    incumbent: Path,
    *,
    first: int,
    most: int,
    error: float,
    say: Callable[[str], None] = lambda _: None,
) -> Verdict:
    """Play until the candidate is shown to be better, until that has become improbable, or until `most` games.

    `first` is the number of the first game; these games must not have been used to select the candidate.
    """
    test, total, seen = SequentialTest.fixed(), 0.0, 0
    while seen < most and not test.refutes(error) and test.capital >= _HOPELESS:
        for one in referee.compare(candidate, incumbent, first + seen, min(_AT_ONCE, most - seen)):
            test, total, seen = test.after(one), total + one, seen + 1
            if test.refutes(error):
                break
        say(f"{seen} games, evidence {test.capital:.3g} of {1 / error:.3g}")
    return Verdict(test.refutes(error), seen, total / max(seen, 1), test.capital, 1 / error)
