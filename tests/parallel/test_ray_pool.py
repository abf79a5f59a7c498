"""Ray as the backend, on a real cluster of three nodes on this machine; skipped where Ray is not installed."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parallel.small import Counting, make_model, player_spec, settings
from understudy.errors import SettingsError, WorkersFailed
from understudy.games.saved import unpack
from understudy.models.store import ModelStore
from understudy.parallel.loop import TrainingLoopManager
from understudy.parallel.loop_stats import LoopStats
from understudy.parallel.player import PlayerSpec
from understudy.parallel.rollout import Rollout
from understudy.rundir import RunDir

try:
    import ray
    from ray.cluster_utils import Cluster
except ImportError:
    ray = None

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # warnings of Ray's own making
on_ray = pytest.mark.skipif(ray is None, reason="Ray is not installed")
OnUpdate = Callable[[TrainingLoopManager, LoopStats, Sequence[Rollout]], None]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.extra = [made.add_node(num_cpus=1) for _ in range(2)]
    made.wait_for_nodes()
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


def train(game: str, on_update: OnUpdate | None = None, limit: int = 4, **parallel: Any) -> TrainingLoopManager:
    """A run that ends after `limit` updates or, if it hangs, fails after a minute."""
    chosen = settings(**{"enabled": True, "backend": "ray", **parallel})
    loop = TrainingLoopManager(
        game, chosen, seed=3, on_update=lambda stats, rollouts: on_update(loop, stats, rollouts) if on_update else None
    )
    loop.run(updates=limit, seconds=60)
    assert loop.stats.seconds < 60
    return loop


@on_ray
def test_synchronous_workers_on_three_nodes_play_and_learn_what_the_sequential_mode_does(cluster: Any) -> None:
    nodes: set[str] = set()

    def look(loop: TrainingLoopManager, _: LoopStats, rollouts: Sequence[Rollout]) -> None:
        seen.extend(rollout.copy() for rollout in rollouts)
        if loop.stats.mode == "parallel":
            nodes.update(fact["node"] for fact in loop.workers.report_workers(5.0))  # type: ignore[union-attr]

    seen: list[Rollout] = []
    alone = train("tictactoe", look, enabled=False, num_workers=3, max_staleness=0)
    played, seen = seen, []
    nodes.clear()
    spread = train("tictactoe", look, num_workers=3, max_staleness=0)
    assert spread.stats.mode == "parallel"
    assert len(nodes) == 3
    assert len(played) == len(seen) == 12
    for mine, theirs in zip(played, seen, strict=True):
        np.testing.assert_array_equal(mine.header, theirs.header)
        np.testing.assert_array_equal(mine.actions, theirs.actions)
        np.testing.assert_array_equal(mine.log_probs, theirs.log_probs)
    np.testing.assert_array_equal(alone.model.network.parameters, spread.model.network.parameters)


@on_ray
def test_weights_go_out_once_per_node_and_rollouts_are_not_pickled(cluster: Any) -> None:
    from ray._private.internal_api import node_stats  # noqa: PLC0415 - what the object store of each node has counted

    def objects(node: Any) -> tuple[int, int]:
        store = node_stats(node.node_ip_address, node.node_manager_port).store_stats
        return store.cumulative_created_objects, store.cumulative_created_bytes

    def at_rest() -> list[tuple[int, int]]:
        """What the nodes have counted, once the workers wait for the learner."""
        before, unchanged = [], 0
        while unchanged < 3:
            now = [objects(node) for node in (cluster.head_node, *cluster.extra)]
            before, unchanged = now, unchanged + 1 if now == before else 0
            time.sleep(0.2)
        return before

    def look(loop: TrainingLoopManager, stats: LoopStats, rollouts: Sequence[Rollout]) -> None:
        counted.append(at_rest())
        sent.append((loop.workers.get_parallel_stats()["sync"]["bytes"], rollouts[0].shape.nbytes))  # type: ignore[union-attr]
        arrays.extend(rollout.states for rollout in rollouts)

    counted: list[list[tuple[int, int]]] = []
    sent: list[tuple[int, int]] = []
    arrays: list[Any] = []
    train(
        "drift", look, limit=4, num_workers=6, worker_cpus=0.5, batch_size=2048, max_staleness=0
    )  # 2 workers per node
    weights, rollout = sent[-1]
    head, *others = np.diff(counted, axis=0)[1:].transpose(1, 0, 2).tolist()
    for changes in others:
        for number, size in changes:
            assert number == 3, "one block of weights for two workers, and a rollout of each"
            assert 0 <= size - weights - 2 * rollout < 3 * 1024, "no byte of a rollout or of weights is there twice"
    for number, size in head:
        assert number == 7, "the weights, two rollouts that were played here, and four from the other nodes"
        assert 0 <= size - weights - 6 * rollout < 7 * 1024
    assert not any(array.flags.writeable for array in arrays), "arrays are views of the object store, not copies"


@on_ray
def test_a_dead_worker_is_replaced_and_only_its_rollout_is_lost(cluster: Any) -> None:
    seen: list[tuple[int, int]] = []
    killed_at: list[int] = []

    def kill(loop: TrainingLoopManager, _: LoopStats, rollouts: Sequence[Rollout]) -> None:
        seen.extend((rollout["worker"], rollout["incarnation"]) for rollout in rollouts)
        pool: Any = loop.workers
        if (1, 1) in seen:
            assert sum(pool.losses.values()) == pool.get_parallel_stats()["restarts"] == 1
            raise _EnoughError
        if killed_at:
            time.sleep(0.1)  # the other worker does not wait
        elif (1, 0) in seen:
            killed_at.append(len(seen))
            ray.kill(pool._slots[1].actor)

    with pytest.raises(_EnoughError):
        train("tictactoe", kill, limit=100_000, num_workers=2, max_staleness=0)
    assert seen[killed_at[0]] == (0, 0)  # the update after the kill
    assert seen[-2:] == [(0, 0), (1, 1)]


@on_ray
def test_workers_leave_and_join_with_their_nodes(cluster: Any) -> None:
    steps = [3, 2, 3]  # workers, before a node is removed, before one is added, and in the end

    def change(_: TrainingLoopManager, _stats: LoopStats, rollouts: Sequence[Rollout]) -> None:
        assert len(rollouts) <= 3
        time.sleep(0.02)
        if len(rollouts) == steps[0]:
            steps.pop(0)
            if len(steps) == 2:
                cluster.remove_node(cluster.extra.pop(), allow_graceful=False)
            elif len(steps) == 1:
                cluster.extra.append(cluster.add_node(num_cpus=1))
            else:
                raise _EnoughError

    with pytest.raises(_EnoughError):
        train("tictactoe", change, limit=100_000, num_workers=0)


class _EnoughError(Exception):
    pass


@on_ray
def test_more_workers_than_the_cluster_has_room_for_do_not_hang(cluster: Any) -> None:
    counts: list[int] = []
    train("tictactoe", lambda _loop, _stats, rollouts: counts.append(len(rollouts)), num_workers=9)
    assert set(counts) <= {1, 2, 3}


@on_ray
@pytest.mark.parametrize(("game", "cause"), [("Raising", "exception in the game: "), ("Dying", "ActorDied: ")])
def test_a_game_that_fails_on_every_worker_is_played_in_this_process(
    game: str, cause: str, cluster: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("UNDERSTUDY_TEST_PID", str(os.getpid()))
    loop = train(f"parallel.small:{game}", limit=2, max_restarts=1)
    assert loop.stats.updates == 2
    assert loop.stats.mode == "sequential"
    assert cause in caplog.text
    assert "cannot be imported" not in caplog.text


def _players(game: str, versions: Path, share: float = 0.0) -> PlayerSpec:
    spec = player_spec("Counting", make_model(Counting), 8)
    return dataclasses.replace(spec, game=game, league_share=share, versions=str(versions))


@on_ray
@pytest.mark.parametrize("game", ["shogi:FOLDER", "tictactoe"])
def test_the_folder_of_versions_is_copied_to_other_machines(cluster: Any, tmp_path: Path, game: str) -> None:
    from understudy.parallel.ray_files import ReceivedFolder, SentFolder  # noqa: PLC0415

    (tmp_path / "000001.npz").write_bytes(b"one")
    players = _players(game.replace("FOLDER", str(tmp_path)), tmp_path, share=0.5)
    sent = SentFolder(players)
    received = ReceivedFolder(players, sent.folder, sent.files())
    copy = Path(received.players.versions)
    assert copy != tmp_path
    assert received.players.game == game.replace("FOLDER", str(copy))
    assert (copy / "000001.npz").read_bytes() == b"one"
    (tmp_path / "000001.npz").unlink()
    (tmp_path / "000002.npz").write_bytes(b"two")
    received.update(sent.files())
    assert [path.name for path in copy.glob("*.npz")] == ["000002.npz"]
    assert sent.files() == sent.files(), "what is sent already is not sent again"
    ReceivedFolder(players, sent.folder, sent.files())
    assert copy.is_dir(), "its worker lives"
    received._lock.release()  # as when its worker is killed
    ReceivedFolder(players, sent.folder, sent.files())
    assert not copy.exists()


@on_ray
def test_without_a_league_nothing_is_copied(cluster: Any, tmp_path: Path) -> None:
    from understudy.parallel.ray_files import ReceivedFolder, SentFolder  # noqa: PLC0415

    (tmp_path / "000001.npz").write_bytes(b"one")
    players = _players("tictactoe", tmp_path)
    sent = SentFolder(players)
    assert sent.files() == {}
    assert ReceivedFolder(players, sent.folder, sent.files()).players == players


@contextlib.contextmanager
def _node_that_does_not_see(folder: Path, address: str) -> Iterator[None]:
    """A node with one CPU and the resource `elsewhere`, in whose file system this folder is empty."""
    join = [sys.executable, "-m", "ray.scripts.scripts", "start", f"--address={address}", "--num-cpus=1", "--block"]
    join += ["--resources", '{"elsewhere": 1}', "--min-worker-port=0", "--max-worker-port=0"]
    hide = f"mount -t tmpfs none {shlex.quote(str(folder))} && exec {shlex.join(join)}"
    node = subprocess.Popen(["unshare", "--mount", "sh", "-c", hide], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while "elsewhere" not in ray.cluster_resources() and time.monotonic() < deadline:
            time.sleep(0.1)
        yield
    finally:
        node.terminate()
        node.wait(30)


def _may_mount() -> bool:
    probe = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    return sys.platform == "linux" and subprocess.run(probe, capture_output=True, check=False).returncode == 0


@on_ray
def test_past_versions_play_on_a_node_that_does_not_see_the_run(cluster: Any, tmp_path: Path) -> None:
    if not _may_mount():
        pytest.skip("this user may not mount")
    run = RunDir.at(tmp_path / "run")
    run.create()
    chosen = settings(enabled=True, backend="ray", league_share=0.5, worker_resource="elsewhere")
    rivals: list[int] = []

    def look(stats: LoopStats, rollouts: Sequence[Rollout]) -> None:
        saved = loop.workers.save_matches() if loop.workers else None
        if saved is not None:
            (player,) = saved
            league, _ = unpack(unpack(player)[1]["matches"].tobytes())
            rivals.append(league["version"])

    loop = TrainingLoopManager("tictactoe", chosen, store=ModelStore(run.model, run.ledger), on_update=look)
    with _node_that_does_not_see(run.root, cluster.address):
        loop.run(updates=2, seconds=60)
    assert loop.stats.mode == "parallel"
    assert rivals == [1, 1], "the first version, not moves at random"


@on_ray
def test_without_room_worker_processes_of_this_machine_play(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.parallel.ray_pool._ROOM_SECONDS", 1.0)
    loop = train("tictactoe", worker_resource="nowhere")
    assert loop.stats.updates == 4
    assert loop.stats.mode == "parallel"
    assert loop.workers is not None
    assert "losses" not in loop.workers.get_parallel_stats()  # no Ray


@on_ray
@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:99999", "nowhere.invalid:6379"])
def test_an_address_where_nothing_answers_is_said_at_once(address: str) -> None:
    from understudy.parallel.ray_cluster import _require_answer  # noqa: PLC0415 - needs Ray

    with pytest.raises(WorkersFailed, match=r"No Ray cluster answers at .*ray start"):
        _require_answer(address)


@on_ray
def test_workers_pause_report_and_go_on(cluster: Any) -> None:
    reports: list[dict[str, Any]] = []

    def pause(loop: TrainingLoopManager, stats: LoopStats, _: Sequence[Rollout]) -> None:
        if stats.updates == 2:
            pool: Any = loop.workers
            pool.pause_workers()
            time.sleep(0.3)
            reports.extend(pool.report_workers(5.0))
            time.sleep(0.3)
            reports.extend(pool.report_workers(5.0))
            pool.resume_workers()

    train("tictactoe", pause, num_workers=2)
    assert [fact["answered"] for fact in reports] == [True] * 4
    assert [fact["state"] for fact in reports] == ["paused"] * 4
    assert reports[0]["decisions"] == reports[2]["decisions"]


@pytest.mark.skipif(ray is not None, reason="Ray is installed")
def test_without_ray_the_error_says_what_to_install() -> None:
    with pytest.raises(SettingsError, match=r"understudy\[ray\]"):
        TrainingLoopManager("tictactoe", settings(enabled=True, backend="ray")).run(updates=1)


@on_ray
def test_the_reason_of_a_loss_is_the_line_that_says_what_happened() -> None:
    from understudy.parallel.ray_cluster import reason  # noqa: PLC0415

    failed = "ray::play()\n  File x\n\x1b[36mRuntimeError: the board is on fire\x1b[0m\n"
    assert reason(ray.exceptions.RayError(failed)) == "RuntimeError: the board is on fire"
    killed = "Memory on the node was 9 GB used / 9 GB limit\nTop 10 memory users\nRefer to the documentation"
    assert reason(ray.exceptions.OutOfMemoryError(killed)) == "Memory on the node was 9 GB used / 9 GB limit"
    assert reason(ray.exceptions.RayError(" ")) == "no reason given"
