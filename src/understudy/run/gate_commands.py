"""`understudy gate`: shows which version is on stage and on what evidence; promotes, demotes and pins by hand."""

from __future__ import annotations

import argparse
from pathlib import Path

from understudy.errors import RunDirError, SettingsError
from understudy.models.gate import Gate
from understudy.models.gate_report import GateReport, gate_report
from understudy.models.store import ModelStore
from understudy.run.control import somebody
from understudy.run.log import clock
from understudy.rundir import RunDir
from understudy.settings import GateSettings, section_from

ACTIONS = ("promote", "demote", "pin", "unpin", "mode")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments for actions by hand."""
    command.add_argument(
        "action",
        nargs="?",
        choices=ACTIONS,
        help="promote VERSION: make it the champion; demote: let the champion play, and restart learning from it; "
        "pin VERSION: never delete it; unpin VERSION: allow its deletion; mode: change gate.mode",
    )
    command.add_argument("value", nargs="?", metavar="VERSION|MODE", help="a version, or off, guard or strict")


def run(options: argparse.Namespace) -> int:
    """Execute the action, then show the gate."""
    place = RunDir.at(options.run_dir)
    if not place.ledger.exists():
        raise RunDirError(f"There is no run at {place.root}: no model has been published there.")
    if options.action is not None:
        print(_act(place, options.action, options.value))
    return show(place.ledger)


def _act(place: RunDir, action: str, value: str | None) -> str:
    gate = Gate(place.ledger, ModelStore(place.model, place.ledger))
    by = somebody()
    if action == "demote":
        state = gate.demote(by)
        return f"Version {state.champion} is on stage; the line restarts from it."
    if value is None:
        raise SettingsError(f"`understudy gate RUN_DIR {action}` needs a {'mode' if action == 'mode' else 'version'}.")
    if action == "mode":
        current = gate.look()
        settings = {} if current is None else {name: getattr(current.settings, name) for name in GateSettings.__slots__}
        gate.use(section_from("gate", {**settings, "mode": value}, "the command line"))
        return f"The mode is {value}."
    version = _version(value)
    if action == "promote":
        state = gate.promote(version, by)
        plays = " The newest version still plays; `demote` puts the champion on stage." if state.stage == "line" else ""
        return f"Version {version} is champion.{plays}"
    if action == "pin":
        gate.pin(version, by)
        return f"Version {version} is pinned: it is never deleted."
    if gate.unpin(version, by):
        return f"Version {version} is no longer pinned."
    return f"Version {version} was not pinned by hand."


def _version(text: str) -> int:
    if not text.isdecimal():
        raise SettingsError(f"A version is a whole number, not {text!r}.")
    return int(text)


def show(ledger: Path) -> int:
    """Print the sentence, the evidence, the opponents and the latest decisions."""
    report = gate_report(ledger)
    if report is None:
        print("There is no gate in this run yet: it is set up with the next game of a bot, or by a learner.")
        return 0
    print(report.sentence)
    if report.blind is not None:
        print(f"The gate cannot compare models: {report.blind}")
    if report.candidate is not None:
        print(_evidence(report))
    if report.opponents:
        print(f"\n{'opponent':<32} {'comparisons':>11} {'points per game':>16}")
        for row in report.opponents:
            print(f"{row.opponent or '-':<32} {row.comparisons:>11} {row.mean:>+16.2f}")
    if report.pins:
        print("\nNever deleted: " + ", ".join(f"v{version} ({why})" for version, why in sorted(report.pins.items())))
    if report.events:
        print("\nLast decisions:")
        for event in report.events[-10:]:
            print(f"  {clock(event.at)}  {event.what:<11} {event.sentence}")
    return 0


def _evidence(report: GateReport) -> str:
    better = "better" if report.mode == "strict" else "not worse"
    rate = "" if report.expected is None else f" At this rate it needs about {report.expected} more comparisons."
    return (
        f"Evidence that it is worse: {report.harm:.3g} ({report.harm_needed:.3g} is enough). "
        f"Evidence that it is {better}: {report.worth:.3g} ({report.worth_needed:.3g} is enough).{rate}"
    )
