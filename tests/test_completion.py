from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from understudy.cli import main
from understudy.completion import SHELLS


def printed(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_commands_and_flags_and_how_to_install_them(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(shell, capsys)
    assert text.startswith(f"# To install: {SHELLS[shell]}\n")
    for word in ("doctor", "selfplay", "proving-ground", "workers", "rollback"):
        assert word in text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("understudy doc", ["doctor"]),
        ("understudy doctor --f", ["--fix"]),
        ("understudy models --roll", ["--rollback"]),
        ("understudy completion po", ["powershell"]),
    ],
)
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes(line: str, expected: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "completion"
    words = line.split()
    file.write_text(
        f"{printed('bash', capsys)}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _understudy\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    ran = subprocess.run(["bash", "--norc", str(file)], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_well_formed(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "completion"
    file.write_text(printed(shell, capsys))
    subprocess.run([shell, "-n", str(file)], check=True)
