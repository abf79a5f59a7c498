"""Sabotages a learner and shows that a worse model does not stay on stage.

    python tools/gate_sabotage.py                       # every sabotage in guard and strict, a few minutes
    python tools/gate_sabotage.py --kinds reversed --modes guard --seeds 3 --bots 2 --clock

A bot plays a small game and trains online. After 300 good games its learner is sabotaged for 400 games; then the next
300 games are normal again. With `--bots 2`, two bots of one run play at the same time. With `--clock`, the clock jumps
by up to twelve hours, forwards or back, every ten games. The kind `world` permanently changes the game instead, and the
version on stage must adapt. Results of games stay true, as on a ladder. The model that bots load is evaluated every ten
games. Games that the line played are bad if that model is more than 5 points worse than before the sabotage; the
champion's control games are not. Exits with 1 if a run has more than 60 bad games (guard) or any (strict), or has not
recovered at the end.
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from understudy.agent import RLAgent
from understudy.ledger.gate import GateLedger
from understudy.models.live import trained_by
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import GateSettings, Settings, TrainingSettings

GOOD, BAD, AGAIN = 300, 400, 300
DECISIONS, NEEDED = 9, 7
ALLOWED_GAMES, ALLOWED_LOSS = 60, 0.05
EVALUATION, LOOK = 400, 10
KINDS = ("reversed", "random", "rate", "weights", "negated", "world")
_real_time = time.time


def play(
    agents: Sequence[RLAgent],
    rng: np.random.Generator,
    reward: Callable[[bool], float],
    *,
    explore: bool,
    changed: bool = False,
) -> int:
    """One game of each bot, at the same time; how many are won.

    A game asks nine questions, of which seven must be answered right. In a changed world other answers are right.
    """
    right = dict.fromkeys(agents, 0)
    for agent in agents:
        agent.begin_episode(opponent_id="somebody")
    for _ in range(DECISIONS):
        for agent in agents:
            state = rng.standard_normal(4)
            answer = int(state[0] + state[1] * (-1 if changed else 1) > 0)
            correct = agent.select_action(state, explore=explore).action == answer
            agent.observe_reward(reward(correct))
            right[agent] += correct
    won = [right[agent] >= NEEDED for agent in agents]
    for agent, victory in zip(agents, won, strict=True):
        agent.end_episode("Victory" if victory else "Defeat")
    return sum(won)


def on_stage(folder: Path, *, changed: bool = False) -> float:
    """How many games what bots load wins."""
    rng = np.random.default_rng(99)
    with RLAgent(4, 2, run_dir=folder, record=False) as agent:
        games = (play([agent], rng, lambda _: 0.0, explore=False, changed=changed) for _ in range(EVALUATION))
        return sum(games) / EVALUATION


@dataclass
class Outcome:
    """What was measured in one run."""

    before: float = 0.0
    worst: float = 1.0
    """Of what bots load, during the sabotage."""
    line_alone: float = 1.0
    """Of the newest version at the end of the sabotage."""
    bad_games: int = 0
    """That the line played while what bots load was more than 5 points worse than before the sabotage."""
    all_games: int = 0
    """The same with the champion's games in between."""
    allowed: int = ALLOWED_GAMES
    after: float = 0.0
    events: list[str] = field(default_factory=list)

    def look(self, rate: float, games: int) -> None:
        """Record the win rate of the model that bots load, after this many games of the line."""
        self.worst = min(self.worst, rate)
        if rate < self.before - ALLOWED_LOSS:
            self.bad_games += games
            self.all_games += LOOK

    @property
    def held(self) -> bool:
        """Whether the stage was protected, and the run recovered."""
        return self.bad_games <= self.allowed and self.after >= self.before - ALLOWED_LOSS


def sabotage(kind: str, mode: str, seed: int, folder: Path, bots: int = 1, clock: bool = False) -> Outcome:
    """One run from good games over sabotage to good games."""
    settings = Settings(gate=GateSettings(mode=mode), training=TrainingSettings(commitment=0.0))  # type: ignore[arg-type]
    rng, run = np.random.default_rng(seed), RunDir.at(folder)
    outcome = Outcome(allowed=0 if mode == "strict" else ALLOWED_GAMES)
    rewards: dict[str, Callable[[bool], float]] = {
        "reversed": lambda correct: -1.0 if correct else 1.0,
        "random": lambda _: float(rng.choice((-1.0, 1.0))),
    }
    store = ModelStore(run.model, run.ledger)
    with ExitStack() as stack:
        agents = [
            stack.enter_context(
                RLAgent(4, 2, run_dir=folder, settings=settings, seed=seed + 1000 * bot, online_training=True)
            )
            for bot in range(bots)
        ]

        def games(count: int, reward: Callable[[bool], float] = true, *, changed: bool = False) -> None:
            for number in range(count // bots):
                if clock and number % (LOOK // bots) == 0:
                    jump(float(rng.uniform(-12, 12)))
                play(agents, rng, reward, explore=True, changed=changed)

        games(GOOD)
        outcome.before = on_stage(folder)
        if kind == "world":
            change_of_world(games, folder, outcome)
        else:
            begin_sabotage(kind, store)
            for _ in range(BAD // LOOK):
                before = games_of_line(run.ledger)
                games(LOOK, rewards.get(kind, true))
                outcome.look(on_stage(folder), games_of_line(run.ledger) - before if mode != "off" else LOOK)
            outcome.line_alone = _alone(store)
            end_sabotage(kind, store)
            games(AGAIN)
            outcome.after = on_stage(folder)
    with GateLedger(run.ledger) as ledger:
        outcome.events = [event.what for event in ledger.events(1000)]
    return outcome


def true(correct: bool) -> float:
    """The reward of an honest game."""
    return 1.0 if correct else -1.0


def jump(hours: float) -> None:
    """Set the clock of this process wrong by this many hours."""
    time.time = lambda: _real_time() + 3600 * hours


def change_of_world(games: Callable[..., None], folder: Path, outcome: Outcome) -> None:
    """The champion begins to lose because the game has changed, and stays changed: the stage has to follow."""
    outcome.allowed = BAD + AGAIN
    outcome.worst = on_stage(folder, changed=True)
    games(BAD + AGAIN, changed=True)
    outcome.after = on_stage(folder, changed=True)


def games_of_line(path: Path) -> int:
    """How many games the learner's line has played, as line or as challenger."""
    with GateLedger(path) as ledger:
        return int(ledger.query("SELECT count(*) FROM gate_games WHERE role IN ('line', 'challenger')")[0][0])


def begin_sabotage(kind: str, store: ModelStore) -> None:
    """What is done to the model once; rewards are changed game by game."""
    head = store.load()
    if kind == "rate":
        trained_by(store, head, dataclasses.replace(head.training, learning_rate=1.0, target_kl=1e6))
    elif kind in ("weights", "negated"):
        arrays = {**head.arrays, "parameters": head.arrays["parameters"] * (100 if kind == "weights" else -100)}
        store.publish(dataclasses.replace(head, arrays=arrays), head, publisher="sabotage")


def end_sabotage(kind: str, store: ModelStore) -> None:
    """Put the learning rate right again; weights have to heal by themselves."""
    if kind == "rate":
        head = store.load()
        trained_by(store, head, TrainingSettings(commitment=0.0))


def _alone(store: ModelStore) -> float:
    """How the newest version would do if it were on stage."""
    with tempfile.TemporaryDirectory() as other:
        rng = np.random.default_rng(99)
        with RLAgent(4, 2, run_dir=other, record=False, settings=Settings(training=store.load().training)) as agent:
            agent.load_model(store.newest)
            return sum(play([agent], rng, lambda _: 0.0, explore=False) for _ in range(EVALUATION)) / EVALUATION


def main() -> int:
    """Print a line for every run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--modes", nargs="+", choices=("off", "guard", "strict"), default=("guard", "strict"))
    parser.add_argument("--seeds", type=int, default=1, metavar="N")
    parser.add_argument("--bots", type=int, default=1, metavar="N", help="that play at the same time (default: 1)")
    parser.add_argument("--clock", action="store_true", help="let the clock jump")
    options = parser.parse_args()
    logging.disable()  # a sabotaged model breaks many games; here only the outcome matters
    failed = 0
    print("sabotage  mode    seed  champion  worst on stage  newest alone  bad games  of all  recovered")
    for kind in options.kinds:
        for mode in options.modes:
            for seed in range(options.seeds):
                with tempfile.TemporaryDirectory() as folder:
                    found = sabotage(kind, mode, seed, Path(folder), options.bots, options.clock)
                failed += not found.held
                verdict = "ok" if found.held else "MISSED"
                print(
                    f"{kind:<9} {mode:<7} {seed:>4} {found.before:>9.0%} {found.worst:>15.0%} {found.line_alone:>13.0%}"
                    f" {found.bad_games:>10} {found.all_games:>7} {found.after:>10.0%}  {verdict}"
                    f"  {' '.join(found.events[1:12])}",
                    flush=True,
                )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
