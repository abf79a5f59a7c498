"""Writes docs/settings.md from the settings themselves: `python tools/write_settings_doc.py`."""

from __future__ import annotations

from pathlib import Path

from understudy.settings import describe, sections

TARGET = Path(__file__).resolve().parent.parent / "docs" / "settings.md"


def document() -> str:
    """The text of docs/settings.md."""
    lines = [
        "# Settings",
        "",
        "Written by `python tools/write_settings_doc.py` from `src/understudy/settings/defaults.py`.",
        "",
        "A TOML file (`understudy.toml` in the working directory, or `--settings FILE`) is read first, then variables",
        "of the environment, then flags; later ones win. An unknown name is an error that names the nearest known one.",
        "",
        "```",
        "[training]                                                  # understudy.toml",
        "learning_rate = 3e-4",
        "",
        "UNDERSTUDY_TRAINING_LEARNING_RATE=3e-4                      # environment",
        "understudy learn RUN_DIR --training.learning-rate 3e-4      # flag",
        "```",
    ]
    for section, kind in sections().items():
        lines += ["", f"## [{section}]", "", str(kind.__doc__), "", "| name | default | meaning |", "|---|---|---|"]
        lines += [f"| `{name}` | `{default}` | {doc} |" for where, name, default, doc in describe() if where == section]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TARGET.write_text(document(), encoding="utf-8")
