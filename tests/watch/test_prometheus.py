from __future__ import annotations

import re
from pathlib import Path

from understudy.rundir import RunDir
from understudy.watch.metrics import all_metrics
from understudy.watch.prometheus import exposition
from understudy.watch.snapshot import read_run

_SAMPLE = re.compile(r'understudy_(\w+)\{run="((?:[^"\\]|\\.)*)"(,\w+="[^"]*")*\} (-?[\d.e+-]+)')


def test_the_figures_of_a_run_are_told_in_the_format_of_prometheus(learned: RunDir) -> None:
    seen = read_run(learned)
    lines = exposition([seen]).splitlines()
    samples = [line for line in lines if not line.startswith("#")]
    assert all(_SAMPLE.fullmatch(line) for line in samples)
    told = {line.split("{")[0].removeprefix("understudy_"): float(line.split(" ")[-1]) for line in samples}
    assert told["model_version"] == 5
    assert told["archive_files"] == 40
    assert told["health"] == 0  # it has finished
    assert abs(told["loss"] - seen.metrics["loss"]) < 1e-9
    assert f'understudy_games_total{{run="{learned.root}",outcome="learned"}} 40' in samples
    assert told.keys() <= all_metrics().keys()
    assert "# TYPE understudy_games_total counter" in lines


def test_a_run_that_is_not_there_is_told_as_red(tmp_path: Path) -> None:
    text = exposition([read_run(RunDir.at(tmp_path / 'a "quoted\\ name'))])
    assert text.endswith('a \\"quoted\\\\ name"} 2\n')


def test_without_runs_there_is_nothing_to_tell() -> None:
    assert exposition([]) == ""
