from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from parallel.small import Counting, make_model, player_spec
from understudy.parallel.communicator import Plan, WorkerCommunicator, WorkerField
from understudy.parallel.rollout import RolloutShape
from understudy.parallel.shared import Segment, WeightBoard
from understudy.parallel.synchronizer import ModelSynchronizer
from understudy.settings import ParallelSettings

SHAPE = RolloutShape(steps=4, matches=2, state_dim=3, n_actions=9, masked=True, two_players=False)
PLAN = Plan(workers=2, slots=3, shape=SHAPE, weights=1000)


def test_what_a_worker_puts_is_what_the_learner_takes_in_order() -> None:
    learner = WorkerCommunicator(PLAN)
    worker = WorkerCommunicator(PLAN, learner.name)
    ring = worker.rings[1]
    for number in range(10):
        slot = ring.next_slot()
        assert slot is not None
        slot.states[:] = number
        slot.stamp(number=number, steps=4)
        assert learner.collect_experiences([0, 1]) == []  # not before it is put
        ring.put()
        (taken,) = learner.collect_experiences([0, 1])
        assert (taken["number"], taken["steps"]) == (number, 4)
        assert (taken.states == number).all()
        learner.release_experiences()
    worker.cleanup()
    learner.cleanup()


def test_a_full_ring_makes_the_worker_wait_and_drops_nothing() -> None:
    learner = WorkerCommunicator(PLAN)
    ring = learner.rings[0]
    for number in range(3):
        slot = ring.next_slot()
        assert slot is not None
        slot.stamp(number=number)
        ring.put()
    assert ring.next_slot() is None
    assert [learner.collect_experiences([0])[0]["number"] for _ in range(2)] == [0, 1]
    assert ring.next_slot() is None  # taken is not yet done with
    learner.release_experiences()
    assert ring.next_slot() is not None
    assert learner.collect_experiences([0])[0]["number"] == 2
    learner.cleanup()


def test_rings_and_weights_do_not_overlap() -> None:
    learner = WorkerCommunicator(PLAN)
    learner.send_model_weights(np.full(1000, 7, np.uint8))
    learner.send_model_weights(np.full(1000, 8, np.uint8))
    for worker, ring in enumerate(learner.rings):
        for number, slot in enumerate(ring.slots):
            for name in SHAPE.fields():
                getattr(slot, name).fill(10 * worker + number)
    for worker, ring in enumerate(learner.rings):
        for number, slot in enumerate(ring.slots):
            for name in SHAPE.fields():
                array = getattr(slot, name)
                assert (array == np.full(1, 10 * worker + number).astype(array.dtype)).all(), name
    shown, content = read(learner.board)
    assert shown == 2
    assert (content == 8).all()
    learner.numbers[:, WorkerField.WANTED :] = -1
    assert learner.board.shown == 2
    learner.cleanup()


def read(board: WeightBoard) -> tuple[int, NDArray[np.uint8]]:
    """The newest weights and their number."""
    content = list[NDArray[np.uint8]]()
    number = board.read(lambda block: content.append(block.copy()))
    return number, content[-1]


def test_a_reader_never_sees_weights_of_two_versions() -> None:
    board = WeightBoard(memoryview(bytearray(WeightBoard.nbytes(400_000))))
    board.write(np.zeros(400_000, np.uint8))
    done = threading.Event()

    def write() -> None:
        for number in itertools.count(2):
            if done.is_set():
                return
            board.write(np.full(400_000, number % 251, np.uint8))

    writer = threading.Thread(target=write)
    writer.start()
    seen = set[int]()
    try:
        while len(seen) < 20:
            number, content = read(board)
            seen.add(number)
            assert content.min() == content.max() == (number % 251 if number > 1 else 0)
    finally:
        done.set()
        writer.join()


def test_a_reader_overtaken_by_the_writer_reads_again() -> None:
    class Overtaken(WeightBoard):
        overtaken = 0

        @property
        def shown(self) -> int:
            shown = super().shown
            if not self.overtaken:
                self.overtaken = 1
                self.write(np.full(10, shown + 1, np.uint8))
                self.write(np.full(10, shown + 2, np.uint8))  # over the block that is about to be read
            return shown

    board = Overtaken(memoryview(bytearray(WeightBoard.nbytes(10))))
    number, content = read(board)
    assert number == 2
    assert (content == 2).all()


def test_an_error_counts_only_if_the_weights_were_whole() -> None:
    board = WeightBoard(memoryview(bytearray(WeightBoard.nbytes(10))))
    board.write(np.full(10, 1, np.uint8))
    tries = list[int]()

    def take(block: NDArray[np.uint8]) -> None:
        tries.append(int(block[0]))
        if len(tries) == 1:
            board.write(np.full(10, 2, np.uint8))
            board.write(np.full(10, 3, np.uint8))  # over the block that is being taken
        if len(tries) != 2:
            raise ValueError("not to be made sense of")

    assert board.read(take) == 3
    assert tries == [1, 3]
    with pytest.raises(ValueError, match="sense"):
        board.read(take)


def test_a_writer_that_died_half_way_leaves_the_last_whole_weights() -> None:
    board = WeightBoard(memoryview(bytearray(WeightBoard.nbytes(10))))
    board.write(np.full(10, 1, np.uint8))
    board._numbers[board._BEGUN] = 2
    board._blocks[0][:5] = 99
    assert read(board)[1].tolist() == [1] * 10


@pytest.mark.parametrize("compress", [False, True])
def test_a_player_gets_the_weights_normaliser_and_version_of_the_model(compress: bool) -> None:
    model = make_model(Counting, seed=3)
    model.trainer.normalizer.update(np.random.default_rng(0).normal(5, 2, (50, 4)))
    model.trainer.updates = 12
    player = player_spec("Counting", model, 2).open(0)
    synchronizer = ModelSynchronizer(ParallelSettings(compression_enabled=compress))
    block = synchronizer.prepare(model)
    assert len(block) <= ModelSynchronizer.capacity(model.network)
    synchronizer.restore(block, player)
    np.testing.assert_array_equal(player.network.parameters, model.network.parameters)
    np.testing.assert_array_equal(player.normalizer.mean, model.trainer.normalizer.mean)
    np.testing.assert_array_equal(player.normalizer.scale, model.trainer.normalizer.scale)
    assert (player.version, player.exploration) == (12, model.exploration)


def test_weights_are_due_after_the_interval() -> None:
    synchronizer = ModelSynchronizer(ParallelSettings(sync_interval=500))
    assert synchronizer.should_sync(0)
    synchronizer.prepare(make_model(Counting))
    synchronizer.mark_sync_completed(0, 10)
    assert not synchronizer.should_sync(499)
    assert synchronizer.should_sync(500)
    assert synchronizer.get_sync_stats()["syncs"] == 1


def gone(name: str) -> bool:
    try:
        SharedMemory(name).close()
    except FileNotFoundError:
        return True
    return False


@pytest.mark.skipif(not os.path.exists("/dev/shm"), reason="needs Linux")  # noqa: PTH110
def test_more_memory_than_there_is_is_refused_at_once() -> None:
    with pytest.raises(OSError, match="bytes are free in"):
        Segment(10**15)


def test_memory_is_removed_by_its_maker_even_while_an_array_is_kept() -> None:
    segment = Segment(100)
    kept = np.frombuffer(segment.view(0, 100), np.uint8)
    segment.close()
    assert gone(segment.name)
    assert kept.sum() == 0
    del kept


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_memory_is_removed_after_its_maker_was_killed() -> None:
    code = (
        "import time; from understudy.parallel.shared import Segment\n"
        "s = Segment(100); print(s.name, flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    name = process.stdout.readline().strip()
    process.send_signal(signal.SIGKILL)
    process.communicate()  # the tracker holds standard error until it has cleaned up
    assert not (os.path.exists("/dev/shm") and os.path.exists(f"/dev/shm/{name}"))  # noqa: PTH110


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/shm"), reason="only Linux keeps shared memory as files")  # noqa: PTH110
def test_memory_of_a_process_group_that_was_killed_is_removed_by_the_next_start() -> None:
    code = (
        "import sys, time; from understudy.parallel.shared import Segment\n"
        "s = Segment(int(sys.argv[1])); print(s.name, flush=True); time.sleep(60)"
    )

    def started(size: int) -> tuple[subprocess.Popen[str], Path]:
        command = [sys.executable, "-c", code, str(size)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert process.stdout is not None
        return process, Path("/dev/shm", process.stdout.readline().strip())

    killed, left = started(12345)
    alive, used = started(23456)
    for path in (left, used):
        os.utime(path, (0, 0))
    os.killpg(killed.pid, signal.SIGKILL)  # its resource tracker too
    killed.communicate()
    assert left.exists()
    try:
        segment = Segment(100)
        assert not left.exists()
        assert used.exists()
        segment.close()
    finally:
        alive.terminate()
        alive.communicate()
