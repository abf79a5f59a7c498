"""The gate's report: what its sentence says of games with results, of rewards, and of how the champion became one."""

from __future__ import annotations

import re
import sqlite3
import time
from pathlib import Path

import pytest

from game_files import make_model
from understudy.models.evidence import Played, interval
from understudy.models.gate import Gate
from understudy.models.gate_report import gate_report
from understudy.models.gate_sentence import Comparisons, Proof, gate_sentence
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import GateSettings

NOW = time.time()


def published(run: RunDir, gate_settings: GateSettings) -> Gate:
    """A run with two versions and a gate."""
    run.create()
    store = ModelStore(run.model, run.ledger)
    store.create(make_model())
    gate = Gate(run.ledger, store)
    gate.use(gate_settings)
    head = store.load()
    store.publish(head, head, publisher="learner", stats={"games": 1})
    return gate


def sentence(run: RunDir) -> str:
    report = gate_report(run.ledger)
    assert report is not None
    return report.sentence


def test_a_promoted_champion_is_on_stage_with_what_it_showed(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    gate = published(run, GateSettings(mode="strict", candidate_games=1))
    assert gate.appoint() == 2
    wanted = gate.to_simulate()
    assert wanted is not None
    gate.record_simulated(wanted, 1_000_000, [1.0, -1.0, 1.0])
    assert re.search(
        r"^v1 is on stage since \d\d:\d\d\. v2 beats the champion in 67 % of the same 3 games, \d+-\d+ %\.$",
        sentence(run),
    )
    gate.record_simulated(wanted, 1_000_003, [1.0] * 60)
    found = gate_report(run.ledger)
    assert found is not None
    assert (found.champion, found.on_stage) == (2, 2)
    low, high = (50 * (1 + bound) for bound in interval([1.0, -1.0, 1.0, *[1.0] * 60]))
    ended = f"; it beat v1 in 98 % of the same 63 games, {low:.0f}-{high:.0f} %."
    ended += " The next candidate comes when the line has learned from 1 more game."
    assert found.sentence.startswith("v2 is on stage since ")
    assert found.sentence.endswith(ended)


@pytest.mark.parametrize(
    ("score", "words"),
    [
        (1.0, "The line beats the champion in 100 % of"),
        (None, "The line earns more than the champion in 100 % of"),
    ],
)
def test_live_games_with_results_are_won_and_those_with_rewards_earn_more(
    tmp_path: Path, score: float | None, words: str
) -> None:
    run = RunDir.at(tmp_path)
    gate = published(run, GateSettings(control_share=0.5))
    for number in range(4):
        part = gate.assign(f"game-{number}", "somebody")
        line = part.role == "line"
        gate.record(f"game-{number}", Played(score and float(line), float(line)))
    assert f"{words} 2 comparisons against the same opponents" in sentence(run)


def test_one_comparison_is_no_share() -> None:
    found = Comparisons.of([0.25], 0.05)
    assert found is not None
    words = gate_sentence(champion=54, since=NOW, on_stage=131, candidate=131, found=[found], seen=1, proof=None)
    assert " The line and the champion were compared once, which says little." in words
    assert "%" not in words
    assert "Equal results" not in words


def test_the_same_result_in_both_games_counts_half_and_is_mentioned() -> None:
    found = Comparisons.of([1.0, 0.0, 0.0, -1.0], 0.05, simulated=True)
    assert found is not None
    assert found.told("it", "v54").startswith("it beats v54 in 50 % of the same 4 games, ")
    words = gate_sentence(champion=54, since=NOW, on_stage=54, candidate=131, found=[found], seen=0, proof=None)
    assert "v131 beats the champion in 50 % of" in words
    assert words.endswith(" %. Equal results count half.")


def test_the_sentence_of_a_champion_that_nothing_is_compared_with() -> None:
    found = Comparisons(60, 0.28, 0.04, 0.5, simulated=True, results=True, ties=False)
    words = gate_sentence(
        champion=131, since=NOW, on_stage=131, candidate=None, found=[], seen=0, proof=Proof(54, True, found)
    )
    clock = time.strftime("%H:%M", time.localtime(NOW))
    assert words == f"v131 is on stage since {clock}; it beat v54 in 64 % of the same 60 games, 52-75 %."


def test_comparisons_of_other_machines_are_not_called_none() -> None:
    words = gate_sentence(champion=1, since=0.0, on_stage=4, candidate=4, found=[], seen=7, proof=None)
    assert words.startswith(
        "v4, the newest version, is on stage; the champion is v1 since 19"
    )  # with its date: not today
    assert words.endswith("The line is compared with the champion; 7 comparisons on other machines.")


def test_a_champion_of_the_line_shares_its_games_with_earlier_versions() -> None:
    found = Comparisons(109, 0.06, 0.0, 0.12, simulated=False, results=True, ties=True)
    words = gate_sentence(
        champion=25, since=NOW, on_stage=32, candidate=32, found=[], seen=0, proof=Proof(1, False, found)
    )
    assert "; the line up to v25 beat v1 in 53 % of 109 comparisons against the same opponents, 50-56 %." in words
    assert "Equal results count half. The line is compared" in words


def test_who_won_which_contest_is_read_from_games_with_and_without_the_newest_tables(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    gate = published(run, GateSettings(mode="strict", candidate_games=1, challenger_share=0.5))
    for number in range(100):
        part = gate.assign(f"game-{number}", "somebody")
        gate.record(f"game-{number}", Played(float(part.role == "challenger")))
    assert "; it beat v1 in 100 % of" in sentence(run)
    with sqlite3.connect(run.ledger) as db:
        db.execute("DROP TABLE gate_simulated")
    db.close()
    assert "; it beat v1 in 100 % of" in sentence(run)
