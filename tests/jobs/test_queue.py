from __future__ import annotations

from understudy.jobs.queue import Job, JobQueue, Kind


def queue_of(**jobs: int) -> JobQueue:
    queue = JobQueue()
    kinds: list[Kind] = ["analyse", "evaluate", "train"]
    for kind in kinds:
        for i in range(jobs.get(kind, 0)):
            queue.add(Job(kind, f"{i}"))
    return queue


def order(queue: JobQueue, count: int) -> str:
    taken = [queue.take() for _ in range(count)]
    return "".join(job.kind[0] for job in taken if job is not None)


def test_more_urgent_kinds_go_first() -> None:
    assert order(queue_of(train=1, evaluate=1, analyse=2), 9) == "teaa"


def test_jobs_of_a_kind_go_in_the_order_they_came() -> None:
    queue = queue_of(analyse=3)
    assert [job.key for job in iter(queue.take, None)] == ["0", "1", "2"]


def test_replays_get_a_turn_however_much_there_is_to_train() -> None:
    assert order(queue_of(train=12, analyse=2), 14) == "ttttattttatttt"


def test_nobody_starves_when_all_kinds_have_plenty() -> None:
    taken = order(queue_of(train=100, evaluate=100, analyse=100), 60)
    assert taken.count("t") > taken.count("e") >= taken.count("a") >= 8


def test_training_does_not_wait_for_a_thousand_replays() -> None:
    queue = queue_of(analyse=1000)
    assert order(queue, 3) == "aaa"
    queue.add(Job("train", "batch"))
    assert order(queue, 2) == "ta"


def test_a_kind_that_cannot_run_now_is_left_out() -> None:
    queue = queue_of(train=1, analyse=1)
    job = queue.take(["analyse"])
    assert job is not None
    assert job.kind == "analyse"
    assert queue.take(["analyse"]) is None
    assert len(queue) == 1


def test_a_job_that_waits_or_runs_is_not_there_twice() -> None:
    queue = JobQueue()
    job = Job("train", "batch")
    assert queue.add(job)
    assert not queue.add(job)
    assert queue.take() == job
    assert not queue.add(job)
    queue.done(job)
    assert queue.add(job)


def test_a_job_to_be_tried_again_goes_to_the_end() -> None:
    queue = queue_of(analyse=3)
    first = queue.take()
    assert first is not None
    queue.again(first)
    assert [job.key for job in iter(queue.take, None)] == ["1", "2", "0"]
