"""End a process at each step of a decision of the gate: there is always one champion, and a game counts once."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tools.torture.checks import Report
from tools.torture.child import N_ACTIONS, STATE_DIM
from tools.torture.crash_points import CRASHED, in_fork

from understudy.agent import RLAgent
from understudy.ledger.connection import Ledger, LedgerGame
from understudy.ledger.gate import GateLedger
from understudy.models.evidence import Played
from understudy.models.gate import Gate
from understudy.models.gate_assignment import Assignment
from understudy.models.state import read_model
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import GateSettings

_LINE = ("line", "challenger")
_MOST_GAMES, _MOST_STEPS = 400, 1000


@dataclass(frozen=True, slots=True)
class Scenario:
    """A run in which the next step of one process is a decision: the last game, or what somebody asks for."""

    name: str
    settings: GateSettings
    line_wins: bool
    event: str
    """The decision."""
    by_hand: Callable[[Gate], object] | None = None


_GUARD, _STRICT = GateSettings(mode="guard"), GateSettings(mode="strict", candidate_games=1)
_SCENARIOS = (
    Scenario("guard: the line is taken off", _GUARD, False, "demoted"),
    Scenario("guard: the line becomes champion", _GUARD, True, "promoted"),
    Scenario("strict: the challenger becomes champion", _STRICT, True, "promoted"),
    Scenario("strict: the challenger is refused", _STRICT, False, "refused"),
    Scenario("by hand: promote", _GUARD, True, "promoted", lambda gate: gate.promote(2, "somebody")),
    Scenario("by hand: demote", _GUARD, True, "demoted", lambda gate: gate.demote("somebody")),
    Scenario("by hand: strict", _GUARD, True, "mode", lambda gate: gate.use(_STRICT)),
)


def crash_in_every_decision(report: Report, folder: Path, stride: int) -> None:
    """Each kind of decision, ended before each of its steps, and done again as the next process does it."""
    for number, scenario in enumerate(_SCENARIOS):
        template, last = folder / f"template {number}", folder / f"last {number}"
        in_fork(lambda s=scenario, t=template, c=last: _prepare(s, t, c), template, None)  # type: ignore[misc]
        begun = _seen(template)
        wrong: list[str] = []
        crashes = 0
        for step in range(0, _MOST_STEPS, stride):
            root = folder / f"{number} at {step}"
            shutil.copytree(template, root)
            code = in_fork(lambda s=scenario, r=root: _decide(s, r), root, step)  # type: ignore[misc]
            found = _wrong(scenario, root, begun) if code in (0, CRASHED) else [f"the process ended with {code}"]
            wrong += [f"step {step}: {what}" for what in found]
            if not found:
                shutil.rmtree(root)
            if code == 0:
                break
            crashes += 1
        report.check(f"{scenario.name}: ended at each step", not wrong and crashes > 0, wrong[:5] or crashes)


def _prepare(scenario: Scenario, template: Path, last: Path) -> None:
    """A run just before the decision: `template` is what it was before the last result."""
    RLAgent(STATE_DIM, N_ACTIONS, run_dir=template, hidden=(8,), online_training=False, seed=3).close()
    run = RunDir.at(template)
    store = ModelStore(run.model, run.ledger)
    gate = Gate(run.ledger, store)
    gate.use(scenario.settings)
    _publish(store)
    if scenario.by_hand is not None:
        return
    for number in range(_MOST_GAMES):
        part = gate.assign(f"game-{number}", "somebody")
        shutil.rmtree(last, ignore_errors=True)
        shutil.copytree(template, last)
        (last / "game.txt").write_text(f"{number} {_wins(scenario, part)}")
        gate.record(f"game-{number}", _result(scenario, part))
        if _events(run) and _events(run)[-1] == scenario.event:
            shutil.rmtree(template)
            last.rename(template)
            return
    raise AssertionError(f"{scenario.name}: nothing was decided in {_MOST_GAMES} games")


def _publish(store: ModelStore) -> None:
    head = store.load()
    arrays = {**head.arrays, "parameters": head.arrays["parameters"] + np.float32(1)}
    game = LedgerGame(f"learned-{head.version}", "x.npz", "Victory", 10, 1.0, 100)
    store.publish(dataclasses.replace(head, arrays=arrays), head, publisher="learner", consumed=[game])


def _wins(scenario: Scenario, part: Assignment) -> int:
    return int((part.role in _LINE) == scenario.line_wins)


def _result(scenario: Scenario, part: Assignment) -> Played:
    return Played(float(_wins(scenario, part)))


def _decide(scenario: Scenario, root: Path) -> None:
    run = RunDir.at(root)
    gate = Gate(run.ledger, ModelStore(run.model, run.ledger))
    if scenario.by_hand is not None:
        scenario.by_hand(gate)
        return
    number, wins = (root / "game.txt").read_text().split()
    gate.record(f"game-{number}", Played(float(wins)))


def _again(scenario: Scenario, root: Path) -> None:
    """What comes after a kill: the result is reported again, or somebody asks again if nothing was decided."""
    if scenario.by_hand is None or _events(RunDir.at(root))[-1] != scenario.event:
        _decide(scenario, root)
    run = RunDir.at(root)
    Gate(run.ledger, ModelStore(run.model, run.ledger)).unfinished()
    Gate(run.ledger, ModelStore(run.model, run.ledger)).appoint()


def _wrong(scenario: Scenario, root: Path, begun: int) -> list[str]:
    run = RunDir.at(root)
    found = []
    try:
        read_model(run.model)  # what a bot does that starts now, before anybody repairs anything
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the check is about
        found.append(f"the model cannot be loaded right after the kill: {error}")
    if code := in_fork(lambda: _again(scenario, root), root, None):
        return [*found, f"the next process ended with {code}"]
    store = ModelStore(run.model, run.ledger)
    state = Gate(run.ledger, store).look()
    assert state is not None
    on_stage, champion = read_model(run.model), store.load_version(state.champion)
    with Ledger(run.ledger) as ledger:
        problems, restarts = ledger.problems(), sum(v.publisher == "gate" for v in ledger.versions())
    with GateLedger(run.ledger) as ledger:
        champions = [version for version, why in ledger.pins().items() if why == "champion"]
        counted = ledger.query("SELECT count(*) FROM gate_blocks WHERE difference IS NOT NULL")[0][0]
    decided = _events(run).count(scenario.event)
    wanted = champion if state.stage == "champion" else store.load()
    facts = {
        "decisions": decided - 1,
        "champions that are pinned": set(champions) ^ {state.champion},
        "files and decision that differ": not state.agreed,
        "the wrong model on stage": not np.array_equal(on_stage.arrays["parameters"], wanted.arrays["parameters"]),
        "restarts of the line": restarts - (scenario.event in ("demoted", "refused")),
        "comparisons": 0 if scenario.by_hand else counted - begun - 1,
        "a damaged ledger": problems,
    }
    return found + [f"{what}: {value}" for what, value in facts.items() if value]


def _events(run: RunDir) -> list[str]:
    with GateLedger(run.ledger) as ledger:
        return [event.what for event in ledger.events(1000)]


def _seen(root: Path) -> int:
    """The complete comparisons."""
    with GateLedger(RunDir.at(root).ledger) as ledger:
        return int(ledger.query("SELECT count(*) FROM gate_blocks WHERE difference IS NOT NULL")[0][0])
