"""Checks that the bot learns: trains from scratch against the fixed mix and evaluates on games it has not seen.

`understudy zerg-check` runs it; docs/zerg-bot.md has measured numbers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

from understudy.games.zerg.challenges import next_challenge
from understudy.games.zerg.defaults import BACKLOG, SETTINGS, zerg_agent
from understudy.games.zerg.direct.bulk import MAPS, games, mixed_opponent
from understudy.games.zerg.direct.game import StrategyGame
from understudy.games.zerg.game_processes import process_pool
from understudy.games.zerg.learned_openings import Openings
from understudy.games.zerg.one_game import GameSetup, play_one
from understudy.games.zerg.opponent_memory import zerg_memory
from understudy.games.zerg.proving_ground.compiled import compile_once
from understudy.games.zerg.strategies import ATTACK, DEFEND, EXPAND, NAMES, STRATEGIES, Strategy
from understudy.learner.process import BackgroundParallelLearner
from understudy.models.gate import Gate
from understudy.models.store import ModelStore
from understudy.run.control import average
from understudy.rundir import RunDir
from understudy.sc2.opponents import OPPONENTS
from understudy.settings import GateSettings

UNTRAINED = (0.2, 0.4)  # wins of an untrained policy; the mix is chosen for this
FRESH = 70_000_000  # first number of evaluation games; training uses lower ones
GOAL, DOUBT = 0.8, 0.01  # share of won games; probability that the best fixed strategy is as good
ENOUGH, LAST = 0.9, 200  # training stops early at this win rate (with exploration) over this many recent games
PLAYERS = 2
AVERAGED = 8  # the result is the mean over this many of the newest versions
CHUNK = 40  # games that a process plays before it reports; the last one goes through the protocol
SPAN = 20  # games that one process evaluates at a time
FIRST_LOOK, FINALISTS = 60, 4  # games that all fixed strategies and plans play; number of finalists that play the rest

Say = Callable[[str], None]


def check(
    folder: Path, seeds: Sequence[int], *, most_games: int, minutes: float, count: int, gate: str = "guard", say: Say
) -> bool:
    """Evaluate the fixed strategies, then train and evaluate each seed; True if every seed reaches the goal.

    `gate` is the mode of the gate during training.
    """
    compile_once()  # otherwise every process would start to compile
    with process_pool(PLAYERS) as pool:
        fixed = fixed_strategies(pool, count, say)
        best = max(NAMES, key=lambda name: (len(fixed[name]), sum(fixed[name])))
        passed = []
        for seed in seeds:
            run = folder / f"seed-{seed}"
            _create(run, seed, gate)
            untrained = evaluate(pool, Contestant("untrained", run_dir=str(run), explore=True), count)
            say(f"seed {seed}: untrained {_share(untrained)}")
            training = train(run, seed, most_games=most_games, minutes=minutes, say=say)
            trained = evaluate(pool, Contestant("trained", run_dir=str(run)), count)
            doubt = sign_test(trained, fixed[best])
            say(
                f"seed {seed}: {_share(trained)} after {training.games} games ({training.protocol_games} by protocol)"
                f" in {training.seconds:.0f} s, gate {gate}; always {best} {_share(fixed[best])}, p = {doubt:.2g}"
            )
            weaknesses = say_opponents(trained, fixed, say)
            low, high = UNTRAINED
            as_asked = low <= rate(untrained) <= high and rate(trained) >= GOAL and not weaknesses
            passed.append(as_asked and rate(trained) > rate(fixed[best]) and doubt < DOUBT)
    return all(passed)


def _create(run_dir: Path, seed: int, gate: str) -> None:
    """Create a run with an untrained model and this mode of the gate."""
    zerg_agent(run_dir, seed=seed, online_training=False).close()
    run = RunDir.at(run_dir)
    Gate(run.ledger, ModelStore(run.model, run.ledger)).use(GateSettings(mode=gate))  # type: ignore[arg-type]


def say_opponents(trained: Sequence[bool], fixed: dict[str, list[bool]], say: Say) -> list[str]:
    """Print how the policy and the fixed plans that played all games did against each opponent.

    Returns the opponents against which a plan is significantly better than the policy.
    """
    plans = {name: won for name, won in fixed.items() if len(won) == len(trained)}
    weaknesses = []
    for opponent in sorted({mixed_opponent(number).name for number in range(FRESH, FRESH + len(trained))}):
        those = [n for n in range(len(trained)) if mixed_opponent(FRESH + n).name == opponent]
        ours = [trained[n] for n in those]
        theirs = {name: [won[n] for n in those] for name, won in plans.items()}
        better = [name for name, won in theirs.items() if sum(won) > sum(ours) and sign_test(ours, won) < DOUBT]
        weaknesses += [opponent] * bool(better)
        scores = ", ".join(f"{name} {sum(won)}" for name, won in theirs.items())
        say(f"  {opponent}: policy {sum(ours)} of {len(ours)}; {scores}{'  WEAKNESS' if better else ''}")
    return weaknesses


def rate(won: Sequence[bool]) -> float:
    """The share of games won."""
    return sum(won) / len(won)


def sign_test(ours: Sequence[bool], theirs: Sequence[bool]) -> float:
    """Two-sided sign test on paired games: probability of a difference at least this large by chance."""
    gained = sum(a and not b for a, b in zip(ours, theirs, strict=True))
    lost = sum(b and not a for a, b in zip(ours, theirs, strict=True))
    differing = gained + lost
    tail = sum(math.comb(differing, k) for k in range(max(gained, lost), differing + 1))
    return min(1.0, 2 * tail / float(2**differing))


def _share(won: Sequence[bool]) -> str:
    return f"{rate(won):.1%} of {len(won)}"


class TrainingSummary(NamedTuple):
    """The extent of a training."""

    games: int
    protocol_games: int
    seconds: float


def train(run_dir: Path, seed: int, *, most_games: int, minutes: float, say: Say) -> TrainingSummary:
    """Train the model of a run until a limit of games or minutes is reached, or it is good enough."""
    learner = BackgroundParallelLearner(run_dir=run_dir, verbose=False, settings=SETTINGS)
    began, won = time.monotonic(), list[bool]()
    started, slowest = 0, 0.0

    def chunk(player: int) -> Future[list[bool]]:
        nonlocal started
        started += CHUNK
        return pool.submit(_play_chunk, str(run_dir), seed, player, started - CHUNK)

    with learner, process_pool(PLAYERS) as pool:
        under_way = {chunk(player): (player, time.monotonic()) for player in range(PLAYERS)}
        while under_way:
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                player, chunk_began = under_way.pop(future)
                won += future.result()
                now = time.monotonic()
                if len(won) % 200 == 0:
                    say(f"seed {seed}: {len(won)} games, {now - began:.0f} s, last 100 won {rate(won[-100:]):.0%}")
                slowest = max(slowest, now - chunk_began)
                going_on = started < most_games and now + slowest - began < 60 * minutes  # in time
                if going_on and not (len(won) >= LAST and rate(won[-LAST:]) >= ENOUGH):
                    under_way[chunk(player)] = player, now
        learner.stop(drain=True)
    average(RunDir.at(run_dir), AVERAGED, "zerg-check")
    return TrainingSummary(len(won), len(won) // CHUNK, time.monotonic() - began)


def _play_chunk(run_dir: str, seed: int, player: int, first: int) -> list[bool]:
    """Play games on the direct environment and one through the protocol, all saved for the learner."""
    first += 1_000_000 * (seed + 1)
    with zerg_agent(run_dir, seed=100 * seed + player, online_training=False) as agent:
        opponents = zerg_memory(Path(run_dir) / OPPONENTS)
        won = []
        for result in games(agent, first, CHUNK - 1, opponents=opponents, openings=Openings()):
            won.append(result.result == "Victory")
            agent.wait_for_learner(BACKLOG)
    challenge = next_challenge(first // CHUNK, [], race="Random", difficulty="mix", map_seed=None, seed=seed)
    return [*won, play_one(challenge, GameSetup(run_dir)).result == "Victory"]


class Contestant(NamedTuple):
    """A player in an evaluation: a fixed plan, or the model of a run."""

    name: str
    plan: tuple[int, ...] = ()  # a strategy for each decision; the last one is repeated
    run_dir: str = ""
    explore: bool = False


def _then_attack(first: Strategy, decisions: int) -> Contestant:
    plan = (STRATEGIES.index(first),) * decisions + (STRATEGIES.index(ATTACK),)
    return Contestant(f"{first.name} then ATTACK", plan)


# Each single strategy, and two plans that beat opponents which no single strategy beats.
FIXED = (
    *(Contestant(name, (number,)) for number, name in enumerate(NAMES)),
    _then_attack(DEFEND, 30),
    _then_attack(EXPAND, 45),
)


def fixed_strategies(pool: ProcessPoolExecutor, count: int, say: Say) -> dict[str, list[bool]]:
    """Which games each fixed plan wins. Only the best in the first games play all of them."""
    look = min(FIRST_LOOK, count)
    won = dict[str, list[bool]]()
    for contestant in FIXED:
        won[contestant.name] = evaluate(pool, contestant, look)
        say(f"{contestant.name}: {_share(won[contestant.name])}")
    for contestant in sorted(FIXED, key=lambda c: sum(won[c.name]), reverse=True)[: FINALISTS if look < count else 0]:
        won[contestant.name] += evaluate(pool, contestant, count, first=look)
        say(f"{contestant.name}: {_share(won[contestant.name])}")
    return won


def evaluate(pool: ProcessPoolExecutor, contestant: Contestant, count: int, first: int = 0) -> list[bool]:
    """Which evaluation games a contestant wins. All contestants play the same ones, without learning."""
    numbers = range(FRESH + first, FRESH + count)
    spans = [numbers[n : n + SPAN] for n in range(0, len(numbers), SPAN)]
    return [won for chunk in pool.map(_evaluate_chunk, [contestant] * len(spans), spans) for won in chunk]


def _evaluate_chunk(contestant: Contestant, numbers: range) -> list[bool]:
    agent, opponents, openings = None, None, None
    if contestant.run_dir:
        agent = zerg_agent(contestant.run_dir, seed=numbers.start, record=False, online_training=False)
        opponents, openings = zerg_memory(Path(contestant.run_dir) / OPPONENTS), Openings()
    won = []
    for number in numbers:
        opponent, map_seed = mixed_opponent(number), number % MAPS
        game = StrategyGame(opponent, map_seed=map_seed, seed=number, opponents=opponents, openings=openings)
        if agent is not None:
            agent.begin_episode()
        result, decisions = "", 0
        while not result:
            if agent is not None:
                action = agent.select_action(game.state(), explore=contestant.explore).action
            else:
                action = contestant.plan[min(decisions, len(contestant.plan) - 1)]
            result, decisions = game.play(action).result, decisions + 1
        won.append(result == "Victory")
    return won
