from __future__ import annotations

from understudy.jobs.queue import JobQueue
from understudy.ledger.jobs import Job, Kind


def queue_of(**jobs: int) -> JobQueue:
    queue = JobQueue()
    kinds: list[Kind] = ["analyse", "evaluate"]
    for kind in kinds:
        for i in range(jobs.get(kind, 0)):
            queue.add(Job(kind, f"{i}", "", "module:function"))
    return queue


def order(queue: JobQueue, count: int) -> str:
    taken = [queue.take() for _ in range(count)]
    return "".join(job.kind[0] for job in taken if job is not None)


def test_more_urgent_kinds_go_first() -> None:
    assert order(queue_of(evaluate=2, analyse=2), 9) == "eeaa"


def test_jobs_of_a_kind_go_in_the_order_they_came() -> None:
    queue = queue_of(analyse=3)
    assert [job.key for job in iter(queue.take, None)] == ["0", "1", "2"]


def test_the_less_urgent_get_a_turn_however_much_there_is_to_evaluate() -> None:
    assert order(queue_of(evaluate=12, analyse=2), 14) == "eeeeaeeeeaeeee"


def test_the_urgent_does_not_wait_for_a_thousand_others() -> None:
    queue = queue_of(analyse=1000)
    assert order(queue, 3) == "aaa"
    queue.add(Job("evaluate", "1:0", "", "module:function"))
    assert order(queue, 2) == "ea"


def test_a_kind_that_cannot_run_now_is_left_out() -> None:
    queue = queue_of(evaluate=1, analyse=1)
    job = queue.take(["analyse"])
    assert job is not None
    assert job.kind == "analyse"
    assert queue.take(["analyse"]) is None
    assert len(queue) == 1


def test_a_job_that_waits_or_runs_is_not_there_twice() -> None:
    queue = JobQueue()
    job = Job("evaluate", "1:0", "", "module:function")
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
