"""The zip for a bot ladder such as AI Arena: the ladder core, the game's own modules, the model, learned files.

Everything is listed here or in `GameSpec.package`; a module that is not listed stays out of the zip.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from understudy.errors import RunDirError
from understudy.games.spec import LadderPackage
from understudy.models.state import read_model
from understudy.rundir import RunDir

MOST_BYTES = 50_000_000  # the limit of AI Arena's free tier

# The ladder core, as files and folders below `understudy`: it imports NumPy and the standard library only.
CORE = (
    "__init__.py",
    "acting",
    "agent.py",
    "errors.py",
    "experience",
    "files",
    "games/__init__.py",
    "games/spec.py",
    "learning",
    "ledger/__init__.py",  # without the learner's jobs
    "ledger/connection.py",
    "ledger/gate.py",
    "ledger/gate_proof.py",
    "ledger/history.py",
    "ledger/reading.py",
    "ledger/rows.py",
    "ledger/tables.py",
    "models",
    "networks",
    "run/__init__.py",
    "run/status.py",
    "rundir.py",
    "settings",
)
_DATE = (2020, 1, 1, 0, 0, 0)  # fixed, so that the same content makes the same zip

RUN_PY = '''"""Starts the bot as the AI Arena ladder does; see --help."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

{start}

if __name__ == "__main__":
    sys.exit({function}(HERE / "data"))
'''


def build_zip(
    package: LadderPackage,
    run_dir: str | os.PathLike[str],
    target: Path,
    own: Mapping[str, bytes] = MappingProxyType({}),
) -> int:
    """Write the zip and return its size; RunDirError if the run has no model or the zip is too large.

    `own` are files of a bot by their names in the zip; if there is a `run.py`, the ladder starts that.
    """
    run = RunDir.at(run_dir)
    if not run.model.exists():
        raise RunDirError(f"There is no model in {run.root}; train one first.")
    read_model(run.model)  # a damaged model must be detected here, not on the ladder
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.partial")
    module, _, function = package.start.partition(":")
    start = RUN_PY.format(start=f"from {module} import {function}  # noqa: E402", function=function)
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        for inside, content in ({"run.py": start.encode()} | dict(own)).items():
            _add(archive, inside, content)
        for name in (*CORE, *package.modules):
            for path, inside in _sources(name):
                _add(archive, f"understudy/{inside}", path.read_bytes())
        _add(archive, "data/models/rl_agent_model.npz", run.model.read_bytes())
        for name in package.learned:
            if (run.root / name).exists():
                _add(archive, f"data/{name}", (run.root / name).read_bytes())
    size = partial.stat().st_size
    if size > MOST_BYTES:
        partial.unlink()
        raise RunDirError(f"The zip would have {size:,} bytes; the limit is {MOST_BYTES:,}. Use a smaller network.")
    partial.replace(target)
    return size


def _sources(name: str) -> Iterator[tuple[Path, str]]:
    """The source files of a file or folder below `understudy`, and their names there."""
    root = Path(__file__).resolve().parents[1]
    if not (root / name).exists():
        raise RunDirError(f"The ladder zip lists {name}, but understudy has no such file or folder.")
    for path in sorted((root / name).rglob("*.py")) if (root / name).is_dir() else [root / name]:
        yield path, path.relative_to(root).as_posix()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _DATE), content, zipfile.ZIP_DEFLATED)
