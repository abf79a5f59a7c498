"""Writes docs/metrics.md from the definitions themselves: `python tools/write_metrics_doc.py`."""

from __future__ import annotations

from pathlib import Path

from understudy.watch.metrics import markdown

TARGET = Path(__file__).resolve().parent.parent / "docs" / "metrics.md"


def document() -> str:
    """The text of docs/metrics.md."""
    return "\n".join(markdown()) + "\n"


if __name__ == "__main__":
    TARGET.write_text(document(), encoding="utf-8")
