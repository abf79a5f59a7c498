"""The zip for the AI Arena ladder: the bot, the ladder core, the model, and what it has learned of its opponents."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import understudy
from understudy.errors import RunDirError
from understudy.models.state import read_model
from understudy.rundir import RunDir

MOST_BYTES = 50_000_000  # the ladder's limit on its free tier

# What stays at home: everything that trains in the background, looks at runs, or simulates the game.
_NOT_PACKED = ("background", "parallel", "watch", "games/shogi", "games/zerg/proving_ground", "games/zerg/direct")
_NOT_PACKED_FILES = {
    "__main__.py",
    "cli.py",
    "doctor.py",
    "games/zerg/training_run.py",
    "games/zerg/one_game.py",
    "games/zerg/run_options.py",
    "games/zerg/history.py",
    "games/zerg/challenges.py",
    "games/zerg/commands.py",
    "games/zerg/package.py",
    "games/zerg/game_processes.py",
    "games/zerg/learn_check.py",
}
_LEARNED = ("opponents.json", "learned_build_orders.json")
_DATE = (2020, 1, 1, 0, 0, 0)  # the same content makes the same zip

RUN_PY = '''"""Starts the bot as the AI Arena ladder does; see --help."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from understudy.games.zerg.ladder import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(HERE / "data"))
'''


def build_package(run_dir: str | os.PathLike[str], target: Path) -> int:
    """Write the zip and return its size; raises RunDirError when the run has no model or the zip is too large."""
    run = RunDir.at(run_dir)
    if not run.model.exists():
        raise RunDirError(f"There is no model in {run.root}; train one first, for instance with run_with_training.py.")
    read_model(run.model)  # a damaged model is found here, not on the ladder
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as package:
        _add(package, "run.py", RUN_PY.encode())
        for path, name in _modules():
            _add(package, name, path.read_bytes())
        _add(package, "data/models/rl_agent_model.npz", run.model.read_bytes())
        for name in _LEARNED:
            if (run.root / name).exists():
                _add(package, f"data/{name}", (run.root / name).read_bytes())
    size = partial.stat().st_size
    if size > MOST_BYTES:
        partial.unlink()
        raise RunDirError(f"The zip would have {size:,} bytes; the ladder takes {MOST_BYTES:,}. Use a smaller network.")
    partial.replace(target)
    return size


def _modules() -> Iterator[tuple[Path, str]]:
    """Source files of the part of the package that travels, and their names in the zip."""
    root = Path(understudy.__file__).parent
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root).as_posix()
        if not inside.startswith(tuple(f"{folder}/" for folder in _NOT_PACKED)) and inside not in _NOT_PACKED_FILES:
            yield path, f"understudy/{inside}"


def _add(package: zipfile.ZipFile, name: str, content: bytes) -> None:
    package.writestr(zipfile.ZipInfo(name, _DATE), content, zipfile.ZIP_DEFLATED)
