"""Settings as flags of a command: `--training.learning-rate 3e-4`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from understudy.settings import describe


def add_settings(command: argparse.ArgumentParser, sections: Sequence[str]) -> None:
    """Add `--settings FILE`, and a flag for each setting of these sections."""
    command.add_argument(
        "--settings", metavar="FILE", help="a TOML file of settings; default: understudy.toml if it exists"
    )
    group = command.add_argument_group("settings (file, then UNDERSTUDY_… variables, then these flags)")
    for section, name, default, doc in describe():
        if section in sections:
            flag = f"{section}.{name.replace('_', '-')}"
            group.add_argument(f"--{flag}", dest=f"settings.{flag}", metavar="X", help=f"{doc} (default: {default})")


def flags(options: argparse.Namespace) -> dict[str, str]:
    """The settings that were given as flags: `section.name` → text."""
    named = {key.removeprefix("settings."): text for key, text in vars(options).items() if key.startswith("settings.")}
    return {key: text for key, text in named.items() if text is not None}
