from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from understudy.games.zerg.proving_ground.install import install


def test_the_folder_has_executables_and_maps_where_burnysc2_looks(tmp_path: Path) -> None:
    install(tmp_path, ("AcropolisLE",))
    code = (
        "from sc2 import maps, paths; print(paths.Paths.EXECUTABLE); "
        "print(maps.get('ProvingGround-3').name, maps.get('AcropolisLE').name)"
    )
    environment = {**os.environ, "SC2PATH": str(tmp_path)}
    shown = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    executable = Path(shown.splitlines()[0])
    assert executable.is_relative_to(tmp_path)
    assert executable.exists()
    assert "ProvingGround-3 AcropolisLE" in shown


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="on Windows the executable is pip's launcher")
def test_the_executable_starts_and_says_what_it_lacks(tmp_path: Path) -> None:
    install(tmp_path)
    program = tmp_path / "Versions" / "Base75689" / "SC2_x64"
    assert os.access(program, os.X_OK)
    answer = subprocess.run([str(program), "-verbose"], capture_output=True, text=True, timeout=120, check=False)
    assert answer.returncode == 2
    assert "-port" in answer.stderr
