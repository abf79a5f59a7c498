from __future__ import annotations

from understudy.learner import reports
from understudy.learner.evaluation import compare
from understudy.learner.statistics import Statistics
from understudy.run.state import Activity, RunState


def test_jobs_are_told_by_kind_and_state_and_only_where_there_are_any() -> None:
    counts = {"train waiting": 0, "train done": 12, "analyse waiting": 3, "analyse set aside": 1, "evaluate done": 0}
    assert reports.jobs(counts) == "train 12 done; analyse 3 waiting, 1 set aside"
    assert reports.jobs({}) == "-"


def test_whether_the_model_is_better_is_said_with_its_uncertainty() -> None:
    alone = compare(3, dict(enumerate("WWWL")))
    assert reports.evaluation(alone.as_dict()) == "version 3 won 75% of 4 games (30% to 95%)"


def test_the_table_of_a_runner_has_replays_models_jobs_workers_and_load() -> None:
    stats = Statistics(
        state=RunState(Activity.MACHINE_BUSY, "CPU"),
        batches_trained=12,
        work={"replays_analyzed": 30, "replays_rejected": 2},
        max_workers=2,
        active_workers=1,
        workers=["pid 7: analyse a.SC2Replay"],
        jobs={"train done": 12, "analyse running": 1},
        resources={"cpu": 91.0, "memory": 40.0, "gpu_memory": None},
        evaluation=compare(3, dict(enumerate("WWWL"))).as_dict(),
    )
    assert "Evaluation" not in reports.statistics_table(Statistics().as_dict())  # there is nothing to say yet
    lines = reports.statistics_table(stats.as_dict()).splitlines()
    for line in (
        "Replays Analyzed: 30",
        "Replays Rejected: 2",
        "Models Trained: 12",
        "Evaluation: version 3 won 75% of 4 games (30% to 95%)",
        "State: waiting for CPU",
        "Active Workers: 1/2",
        "Workers: pid 7: analyse a.SC2Replay",
        "Jobs: train 12 done; analyse 1 running",
        "Load: CPU 91 %, memory 40 %",
    ):
        assert line in lines
