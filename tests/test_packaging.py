from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pytest

import understudy

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "understudy"


def test_an_installed_package_has_every_file_that_is_not_code() -> None:
    """setuptools takes along what a pattern names; a new style sheet or table without one would be missing."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    patterns = settings["package-data"]["understudy"]
    files = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc") and not path.suffix.startswith(".nb")
    }
    assert {"watch/dashboard/style.css", "py.typed"} <= files
    assert {file for file in files if not any(fnmatch(file, pattern) for pattern in patterns)} == set()
    assert [pattern for pattern in patterns if not list(PACKAGE.glob(pattern))] == []


def test_every_folder_of_code_is_a_package() -> None:
    """setuptools finds packages by their __init__.py; code in a folder without one would be missing."""
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert {folder for folder in folders if not (folder / "__init__.py").exists()} == set()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the sdist, and the wheel that was made from it, of a copy of this tree."""
    pytest.importorskip("build")
    pytest.importorskip("twine")
    copy = tmp_path_factory.mktemp("tree") / "understudy"
    unwanted = shutil.ignore_patterns(
        ".git", ".venv", ".*_cache", "__pycache__", "*.egg-info", "site", "local_training"
    )
    shutil.copytree(ROOT, copy, ignore=unwanted)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", "out"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return copy / "out"


@pytest.mark.slow
def test_wheel_and_sdist_are_complete_and_well_described(built: Path) -> None:
    (wheel,), (sdist,) = list(built.glob("*.whl")), list(built.glob("*.tar.gz"))
    assert wheel.name == f"understudy-{understudy.__version__}-py3-none-any.whl"
    command = [sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    code = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix != ".pyc" and not path.suffix.startswith(".nb")
    }
    assert {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("understudy/")} == code
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{name}" for name in code} <= inside
    others = [ROOT / name for name in ("tests", "docs", "tools", "examples", "benchmarks", "clients", "bat")]
    wanted = {path.relative_to(ROOT).as_posix() for folder in others for path in folder.rglob("*.*") if _kept(path)}
    wanted |= {"Makefile", "mkdocs.yml", "constraints.txt", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"}
    assert wanted - inside == set()


def _kept(path: Path) -> bool:
    return path.is_file() and path.suffix in (".py", ".md", ".tsv", ".png", ".svg", ".json", ".bat", ".c", ".cs", ".js")


@pytest.mark.slow
def test_the_wheel_works_in_a_clean_environment_with_numpy_and_nothing_else(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "clean", with_pip=False)
    place = "Scripts" if os.name == "nt" else "bin"
    python = tmp_path / "clean" / place / ("python.exe" if os.name == "nt" else "python")
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(command, check=True)
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    numpy = Path(np.__file__).parent
    shutil.copytree(numpy, packages / "numpy", ignore=shutil.ignore_patterns("tests", "__pycache__"))
    for libraries in numpy.parent.glob("numpy.libs"):
        shutil.copytree(libraries, packages / libraries.name)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    script = str(python.with_name("understudy.exe" if os.name == "nt" else "understudy"))
    for arguments, shown in (
        (["--version"], f"understudy {understudy.__version__}"),
        (["selfplay", "tictactoe", "--updates", "2", "--run-dir", "run"], "after 2 updates"),
        (["status", "run"], "state=finished health=grey"),
        (["monitor", "run"], "pip install"),  # it needs rich, and reports that
    ):
        command = [script, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert shown in done.stdout + done.stderr, done.stdout + done.stderr


def test_the_version_has_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "understudy.__version__"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", understudy.__version__)
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{understudy.__version__}]" in changes or "## Unreleased" in changes


def test_workflows_hooks_and_templates_name_files_and_commands_that_exist() -> None:
    yaml = pytest.importorskip("yaml")
    folder = ROOT / ".github"
    files = [*folder.rglob("*.yml"), ROOT / ".pre-commit-config.yaml"]
    assert len(files) >= 6
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    assert all(yaml.safe_load(file.read_text(encoding="utf-8")) for file in files)
    for name in re.findall(r"\b(?:tools|tests|src)/[\w/]+\.py", text):
        assert (ROOT / name).exists(), name
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"run: make ([\w-]+)", text)) <= set(targets)
    copied = re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for name in " ".join(copied).split():
        assert (ROOT / name).exists(), name
        assert f"!{name.removeprefix('./')}" in allowed
