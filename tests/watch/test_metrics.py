from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from understudy.rundir import RunDir
from understudy.watch.history import read_history
from understudy.watch.ledger_reading import open_ledger
from understudy.watch.metrics import all_metrics, markdown

ROOT = Path(__file__).parent.parent.parent
_COUNTS = {"games", "steps", "total_steps", "epochs_done"}  # sizes of a batch, which are not metrics


def test_the_page_is_what_the_definitions_say() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert page == "\n".join(markdown()) + "\n", "run `python tools/write_metrics_doc.py`"


def test_every_metric_is_defined_once_and_in_full() -> None:
    for metric in all_metrics().values():
        assert metric.what.endswith(".")
        assert metric.normal.endswith(".")
        assert metric.otherwise.endswith(".")
        assert f"(`{metric.name}`" in "\n".join(markdown())


def test_every_number_that_the_learner_records_has_a_definition(learned: RunDir) -> None:
    with open_ledger(learned.ledger) as ledger:
        recorded = read_history(ledger).metrics.keys()
    assert recorded - _COUNTS <= all_metrics().keys()


def test_the_tool_writes_the_page(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("write_metrics_doc", ROOT / "tools" / "write_metrics_doc.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert (ROOT / "docs" / "metrics.md") == tool.TARGET
    assert tool.document().startswith("# Metrics\n")


def test_the_ranges_that_charts_draw_are_those_of_the_texts() -> None:
    drawn = [metric for metric in all_metrics().values() if metric.range is not None]
    assert len(drawn) >= 8
    for metric in drawn:
        told = {float(number) for number in re.findall(r"-?\d+\.?\d*", metric.normal)}
        assert metric.range is not None
        low, high = metric.range
        assert low < high
        assert low in told, metric.name
        assert high in told or high == 1, metric.name
