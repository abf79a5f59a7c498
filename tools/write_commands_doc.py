"""Writes docs/commands.md from the commands themselves: `python tools/write_commands_doc.py`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from understudy.cli import command_line
from understudy.flags import meaning

TARGET = Path(__file__).resolve().parent.parent / "docs" / "commands.md"
_HEAD = """# Commands

Written by `python tools/write_commands_doc.py` from the commands themselves. `understudy COMMAND --help` prints the
same in a terminal, `--help-all` also the flags of the [settings](settings.md), which most commands take.

A clone runs them as `./understudy COMMAND` (Windows: `understudy COMMAND`), which installs what is missing in `.venv`;
an environment of your own has them after `pip install -e .`.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | refused or failed; the message says why |
| 2 | a mistake in the command |
| 3 | another learner uses the run |
| 130 | ended by Ctrl-C |
| 141 | nobody reads its output any more |
| 143 | ended by SIGTERM; `learn`, `selfplay`, `serve`, `sync` and `work` finish first, with 0 |
"""


def document() -> str:
    """The text of docs/commands.md."""
    parts = [_HEAD]
    for name, text, parser in _commands(command_line()):
        parts += [f"\n## understudy {name}\n", f"\n{_sentence(text)}\n"]
        if rows := list(_rows(parser)):
            parts += ["\n| argument | meaning |\n|---|---|\n", *rows]
        else:
            parts.append(f"\n`understudy {name} --help` lists its arguments.\n")
    return "".join(parts)


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Name, text and parser of each command, in the order of `--help`."""
    for action in parser._actions:  # argparse has no public way to list them
        if isinstance(action, argparse._SubParsersAction):
            texts = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                yield name, texts.get(name, ""), command


def _rows(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        hidden = action.help == argparse.SUPPRESS or action.dest.startswith("settings.")
        if hidden or isinstance(action, argparse._HelpAction) or "--help-all" in action.option_strings:
            continue
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                yield f"| `{choice.dest}` | {_cell(choice.help or '')} |\n"
            continue
        yield f"| `{_written(action)}` | {_cell(_meaning(action, parser))} |\n"


def _written(action: argparse.Action) -> str:
    metavar = " ".join(action.metavar) if isinstance(action.metavar, tuple) else action.metavar or action.dest.upper()
    if action.choices:
        metavar = "{" + ",".join(map(str, action.choices)) + "}"
    if not action.option_strings:
        return f"{metavar} ..." if action.nargs in ("*", "+") else metavar
    flag = ", ".join(action.option_strings)
    return flag if action.nargs == 0 else f"{flag} {metavar}"


def _meaning(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    values = {**vars(action), "prog": parser.prog}
    text = meaning(action)
    return text % values if "%" in text else text


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip() or "–"


def _sentence(text: str) -> str:
    text = _cell(text.replace("%%", "%"))
    return text[:1].upper() + text[1:] + ("" if text.endswith(("?", ".")) else ".")


if __name__ == "__main__":
    TARGET.write_text(document(), encoding="utf-8")
