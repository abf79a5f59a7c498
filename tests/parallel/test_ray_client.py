"""Self-play through a `ray://` address: the cluster's Ray Client server takes the calls."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("ray")
pytest.importorskip("grpc", reason="Ray Client needs ray[client]")


def free_ports(count: int) -> list[int]:
    """Ports below those that Ray gives to its workers."""
    found: list[int] = []
    for port in range(7300, 9000):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)):
                found.append(port)
        if len(found) == count:
            break
    return found


@pytest.mark.slow
def test_workers_play_behind_a_ray_client_address(tmp_path: Path) -> None:
    head, client = free_ports(2)
    environment = {**os.environ, "RAY_AUTH_MODE": "disabled"}
    start = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--num-cpus=2"]
    start += [f"--port={head}", f"--ray-client-server-port={client}", "--include-dashboard=false"]
    with (tmp_path / "ray.log").open("w") as log:
        cluster = subprocess.Popen(start, env=environment, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with socket.socket() as tried:
                if not tried.connect_ex(("127.0.0.1", client)):
                    break
            time.sleep(0.2)
        command = [sys.executable, "-m", "understudy", "selfplay", "drift", "--run-dir", str(tmp_path / "run")]
        command += ["--address", f"ray://127.0.0.1:{client}", "--workers", "1", "--updates", "5"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "[WARNING]" not in done.stdout + done.stderr, "it went on with workers of this machine"
        assert "after 5 updates" in done.stdout
    finally:
        cluster.terminate()
        cluster.wait(30)
