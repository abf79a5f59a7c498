"""A folder that works as SC2PATH: an executable under every name that burnysc2 looks for, and maps."""

from __future__ import annotations

import os
import stat
import sys
import zipfile
from importlib import resources
from io import BytesIO
from pathlib import Path

from understudy.errors import SettingsError
from understudy.games.zerg.proving_ground.maps import common_maps
from understudy.games.zerg.proving_ground.static_responses import BASE_BUILD

PROGRAM = "understudy.games.zerg.proving_ground"
NAMES = ("SC2_x64", "SC2_x64.exe", "SC2.app/Contents/MacOS/SC2")
LAUNCHER = "t64.exe"  # pip's launcher for console scripts


def install(folder: Path, more_maps: tuple[str, ...] = ()) -> Path:
    """Create the folder and return it; files of an earlier installation are replaced."""
    version = folder / "Versions" / f"Base{BASE_BUILD}"
    for name in NAMES:
        target = version / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if os.name == "nt" and name.endswith(".exe"):
            target.write_bytes(_windows_program())
        else:
            target.write_text(_script(), encoding="utf-8")
            target.chmod(target.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    (folder / "Support64").mkdir(exist_ok=True)
    maps = folder / "Maps"
    maps.mkdir(exist_ok=True)
    for name in (*common_maps(), *more_maps):
        (maps / f"{name}.SC2Map").write_text(
            "A map of Understudy's proving ground, generated from its name.\n", encoding="utf-8"
        )
    return folder


def _script() -> str:
    return (
        f"#!{sys.executable}\n"
        "import sys\n\n"
        f"from {PROGRAM}.__main__ import main\n\n"
        'sys.exit(main(["listen", *sys.argv[1:]]))\n'
    )


def _windows_program() -> bytes:
    """A Windows console script: pip's launcher, the interpreter's path, and a zip with the script."""
    try:
        launcher = resources.files("pip._vendor.distlib").joinpath(LAUNCHER).read_bytes()
    except (ModuleNotFoundError, FileNotFoundError) as missing:
        raise SettingsError(
            f"pip's launcher {LAUNCHER} is needed to make SC2_x64.exe and was not found: install pip here."
        ) from missing
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as package:
        package.writestr("__main__.py", _script().split("\n", 1)[1])
    return launcher + f"#!{sys.executable}\r\n".encode() + archive.getvalue()
