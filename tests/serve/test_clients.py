"""The clients in other languages: each plays Drift through the sidecar until it is learned; and kills at any moment."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from understudy.cli import main
from understudy.experience.episode import read_episode
from understudy.rundir import RunDir
from understudy.settings import StorageSettings

CLIENTS = Path(__file__).parents[2] / "clients"
UNDERSTUDY = [sys.executable, "-m", "understudy"]
SECONDS = 400  # 25 on an idle machine


@contextmanager
def sidecar(run: RunDir, *flags: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A sidecar and its port."""
    command = [*UNDERSTUDY, "serve", str(run.root), "--port", "0", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline().split("127.0.0.1:")[1].split("/")[0]), process
        finally:
            process.terminate()
            process.wait(60)


def tool(name: str) -> str:
    """The path of a compiler or interpreter; skips where it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def compiled_c(folder: Path) -> Path:
    program = folder / "drift"
    flags = ["-Wall", "-Wextra", "-Werror", "-O2", "-std=c99", "-D_POSIX_C_SOURCE=200112L"]
    subprocess.run([tool("cc"), *flags, CLIENTS / "c" / "drift.c", "-o", program, "-lm"], check=True)
    return program


def check_learns(command: list[str | Path]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("reached ")


@pytest.mark.parametrize("client", ["c/understudy.h", "csharp/Understudy.cs", "javascript/understudy.mjs"])
def test_a_client_has_at_most_200_lines(client: str) -> None:
    assert len((CLIENTS / client).read_text(encoding="utf-8").splitlines()) <= 200


@pytest.mark.slow
def test_the_header_is_also_cpp(tmp_path: Path) -> None:
    source = CLIENTS / "c" / "drift.c"
    subprocess.run([tool("c++"), "-Wall", "-x", "c++", source, "-o", tmp_path / "drift", "-lm"], check=True)


@pytest.mark.slow
def test_c_learns_drift(run: RunDir, tmp_path: Path) -> None:
    program = compiled_c(tmp_path)
    with sidecar(run) as (port, _):
        check_learns([program, str(port)])


@pytest.mark.slow
def test_csharp_learns_drift(run: RunDir, tmp_path: Path) -> None:
    program = tmp_path / "Drift.exe"
    sources = [CLIENTS / "csharp" / name for name in ("Understudy.cs", "Drift.cs")]
    subprocess.run([tool("mcs"), *sources, f"-out:{program}"], check=True)
    with sidecar(run) as (port, _):
        check_learns([tool("mono"), program, f"http://127.0.0.1:{port}"])


@pytest.mark.slow
@pytest.mark.parametrize("way", ["stdio", "http"])
def test_javascript_learns_drift(run: RunDir, way: str) -> None:
    program: list[str | Path] = [tool("node"), CLIENTS / "javascript" / "drift.mjs"]
    if way == "stdio":
        check_learns([*program, run.root, sys.executable, "-m", "understudy"])
    else:
        with sidecar(run) as (port, _):
            check_learns([*program, f"http://127.0.0.1:{port}"])


@pytest.mark.slow
def test_kills_of_clients_and_of_the_sidecar_lose_and_double_nothing(run: RunDir, tmp_path: Path) -> None:
    """Whatever is killed when: every decision that was answered is in exactly one game, and no game is there twice."""
    if os.name != "posix":
        pytest.skip("kills with signals")
    program = compiled_c(tmp_path)
    rng = random.Random(0)
    for number in range(6):
        with sidecar(run, "--no-learner") as (port, server):
            seeds = [str(100 + 3 * number + bot) for bot in range(3)]
            bots = [subprocess.Popen([program, str(port), seed], stderr=subprocess.DEVNULL) for seed in seeds]
            for bot in rng.sample(bots, 3):
                time.sleep(rng.uniform(0.05, 0.4))
                (server if rng.random() < 0.2 else bot).kill()
            for bot in bots:
                bot.kill()
                bot.wait()
    main(["learn", str(run.root), "--no-training", "--once"])  # salvages what the dead left
    episodes = [read_episode(path, StorageSettings()) for path in _games(run)]
    assert len(episodes) >= 10
    assert len({episode.meta.id for episode in episodes}) == len(episodes)
    firsts = [episode.states[0].tobytes() for episode in episodes]
    assert len(set(firsts)) == len(firsts), "the same game is there twice"
    for episode in episodes:
        assert episode.meta.truncated
        assert len(episode) <= 300
        rewards = episode.states[range(len(episode)), episode.actions]
        assert rewards == pytest.approx(episode.rewards), "a reward is missing or counted twice"
    assert not list(run.live.glob("*.journal"))


def _games(run: RunDir) -> list[Path]:
    return [*run.buffer.glob("*.npz"), *run.archive.glob("*.npz")]
