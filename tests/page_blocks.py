"""Runs the code blocks of a page of documentation, in their order, in an empty folder, as a reader would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"(?:#|//) file: (\S+)")


def blocks(page: str) -> list[tuple[str, str]]:
    """Language and content of each block with a language."""
    return _BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))


def run_blocks(page: str, folder: Path, *, seconds: float = 300) -> list[str]:
    """What each block printed. A block that begins with `# file: NAME` is saved; others in python and sh are run."""
    printed = []
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "src"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    for language, content in blocks(page):
        if name := _FILE.match(content):
            (folder / name[1]).write_text(content, encoding="utf-8")
            continue
        if language not in ("python", "sh"):
            continue
        command = [sys.executable, "-c", content] if language == "python" else ["bash", "-euc", content]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
        assert done.returncode == 0, f"{page}:\n{content}\n{done.stdout}\n{done.stderr}"
        printed.append(done.stdout)
    return printed
