"""Shared parts of the command lines: a parser that suggests the nearest name, checked numbers, settings as flags."""

from __future__ import annotations

import argparse
import difflib
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from understudy.errors import LearnerBusy, RunDirError, UnderstudyError, explained, missing_library
from understudy.extras import how_to_install
from understudy.rundir import DEFAULT_RUN_DIR, RunDir
from understudy.settings import describe

MOST_PORT = 65_535
NO_READER = 141  # the exit code that a shell reports for a program ended by SIGPIPE


class Parser(argparse.ArgumentParser):
    """An argparse parser with short messages: what is wrong, the nearest name, and where to find the help.

    Flags added by `add_settings` appear only in `--help-all`, because there are many.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **({"formatter_class": _Formatter} | kwargs))

    ignore_unknown = False  # of a command that takes another program's arguments
    _hidden: list[tuple[argparse.Action, str]]

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown arguments here, where the valid names are known, and not in the parent parser."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown and not self.ignore_unknown:
            flag = next((text.partition("=")[0] for text in unknown if text.startswith("-")), None)
            if flag is None:
                self.error(f"{unknown[0]!r} is one argument too many")
            self.error(f"there is no flag {flag}{nearest(flag, self._option_string_actions)}")
        return found, []

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            if isinstance(action, argparse._SubParsersAction):
                self.error(f"there is no command {value!r}{nearest(str(value), names)}")
            self.error(
                f"{'/'.join(action.option_strings) or action.metavar or action.dest} cannot be {value!r}"
                f"{nearest(str(value), names)}; possible: {', '.join(names)}"
            )

    def error(self, message: str) -> NoReturn:
        """Print the message and where the help is; exit code 2."""
        end = "" if message.endswith("?") else "."
        self.exit(2, f"{self.prog}: {message}{end}\nAll commands and flags: {self.prog} --help\n")

    def add_subparsers(self, **kwargs: Any) -> Any:
        """Add commands. The description of each is its help text as a sentence, unless it is given."""
        return super().add_subparsers(**({"action": _Commands} | kwargs))

    def hide(self, action: argparse.Action) -> None:
        """Show this flag in `--help-all` only."""
        if not hasattr(self, "_hidden"):
            self._hidden = []
            self.add_argument("--help-all", action=_HelpAll, nargs=0, help="show the flags of all settings too")
        self._hidden.append((action, action.help or ""))
        action.help = argparse.SUPPRESS


class _Commands(argparse._SubParsersAction):  # type: ignore[type-arg]  # generic for type checkers only
    def add_parser(self, name: str, **kwargs: Any) -> Any:
        text = kwargs["help"]
        return super().add_parser(name, **({"description": f"{text[0].upper()}{text[1:]}."} | kwargs))


class _Formatter(argparse.HelpFormatter):
    """Leaves room for the names of all commands, and shows defaults."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=20)

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, _Commands):  # argparse does not count the extra indentation of commands
            self._action_max_length += self._indent_increment

    def _get_help_string(self, action: argparse.Action) -> str:
        return meaning(action)


def meaning(action: argparse.Action) -> str:
    """The help of an argument, with its default unless the help mentions it already."""
    text, default = action.help or "", action.default
    if "default" in text or default is None or default is False or default in ("", [], argparse.SUPPRESS):
        return text
    values = default if isinstance(default, list) else [default]
    shown = " ".join(f"{value:,}" if isinstance(value, int) and value >= 10_000 else _plain(value) for value in values)
    return f"{text} (default: {shown})"


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


class _HelpAll(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        assert isinstance(parser, Parser)
        for action, text in parser._hidden:
            action.help = text
        parser.print_help()
        parser.exit()


def nearest(name: str, names: Iterable[str]) -> str:
    """`; did you mean NAME?`, or '' if no name is similar."""
    found = difflib.get_close_matches(name, list(names), 1, 0.5)
    return f"; did you mean {found[0]}?" if found else ""


def count(text: str) -> int:
    """Argument type: a whole number of at least 1."""
    return _whole(text, 1)


def count_or_zero(text: str) -> int:
    """Argument type: a whole number of at least 0."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    try:
        if (number := int(text)) >= least:
            return number
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{_short(text)} is not a whole number of at least {least}")


def port(text: str) -> int:
    """Argument type: a TCP port, or 0 for any free one."""
    if (number := _whole(text, 0)) <= MOST_PORT:
        return number
    raise argparse.ArgumentTypeError(f"{_short(text)} is not a port; ports are 0 (any free one) to {MOST_PORT}")


def duration(text: str) -> float:
    """Argument type: seconds or minutes, above 0 and finite."""
    try:
        if 0 < (number := float(text)) < math.inf:
            return number
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{_short(text)} is not a number above 0")


def duration_or_zero(text: str) -> float:
    """Argument type: seconds, at least 0 and finite."""
    try:
        if 0 <= (number := float(text)) < math.inf:
            return number
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{_short(text)} is not a number of at least 0")


def learning_rate(text: str) -> float:
    """Argument type: a learning rate, above 0 and at most 1."""
    if (rate := duration(text)) > 1:
        raise argparse.ArgumentTypeError(f"{_short(text)} is not a learning rate; those are above 0 and at most 1")
    return rate


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def add_run_dir(command: argparse.ArgumentParser, flag: str = "run_dir") -> None:
    """Add the run directory, as an argument or as a flag."""
    many = {} if flag.startswith("--") else {"nargs": "?"}
    command.add_argument(flag, default=DEFAULT_RUN_DIR, metavar="RUN_DIR", help="the run directory", **many)  # type: ignore[arg-type]


def existing_run(folder: str) -> RunDir:
    """The run in this folder, which may still be empty; RunDirError with the most similar name if there is none."""
    run = RunDir.at(folder)
    if run.root.is_dir():
        run.require_outermost()
        if not any(path.exists() for path in (run.ledger, run.models, run.buffer, run.logs)) and any(
            run.root.iterdir()
        ):
            raise RunDirError(f"{run.root} is not a run: it contains other files, and no data, models or logs.")
        return run
    if run.root.exists():
        raise RunDirError(f"{run.root} is a file. Name the folder of a run.")
    if run.root.is_symlink():
        raise RunDirError(
            f"{run.root} is a link to {run.root.readlink()}, which does not exist. Correct or remove the link."
        )
    raise RunDirError(f"There is no run at {run.root}{_runs_near(run.root)} A bot with RLAgent(run_dir=...) makes one.")


def _runs_near(root: Path) -> str:
    try:
        beside = sorted(folder.name for folder in root.parent.iterdir() if RunDir.at(folder).models.is_dir())
    except OSError:
        return f", and no folder {root.parent} either."
    if near := difflib.get_close_matches(root.name, beside, 1, 0.5):
        return f"; did you mean {near[0]}?"
    return f"; runs beside it: {', '.join(beside[:8])}." if beside else ", and there is no other run beside it."


def add_settings(command: Parser, sections: Sequence[str]) -> None:
    """Add `--settings FILE`, and a flag for each setting of these sections."""
    command.add_argument(
        "--settings", metavar="FILE", help="a TOML file of settings (default: understudy.toml, if it exists)"
    )
    group = command.add_argument_group("settings (file, then UNDERSTUDY_... variables, then these flags)")
    for section, name, default, doc in describe():
        if section in sections:
            flag = f"{section}.{name.replace('_', '-')}"
            text = f"{doc} (default: {default})".replace("%", "%%")
            command.hide(group.add_argument(f"--{flag}", dest=f"settings.{flag}", metavar="X", help=text))


def flags(options: argparse.Namespace) -> dict[str, str]:
    """The settings given as flags: `section.name` → text."""
    named = {key.removeprefix("settings."): text for key, text in vars(options).items() if key.startswith("settings.")}
    return {key: text for key, text in named.items() if text is not None}


def exit_code(command: Callable[[], int]) -> int:
    """Run a command, print an error in one line, and return the exit code."""
    try:
        return int(command())
    except BrokenPipeError:
        return NO_READER
    except (UnderstudyError, OSError) as error:
        print(f"understudy: {explained(error) if isinstance(error, OSError) else error}", file=sys.stderr)
        return error.exit_code if isinstance(error, LearnerBusy) else 1
    except ModuleNotFoundError as error:
        if (library := missing_library(error)) is None:
            raise
        print(f"understudy: the library {library!r} is missing. {how_to_install(library)}", file=sys.stderr)
        return 1
    except MemoryError as error:
        print(
            f"understudy: There is not enough memory: {error}. Reduce what needs it, or end other programs.",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        return 130


def end_quietly(code: int) -> int:
    """Flush the output. Returns the exit code, or NO_READER if nobody reads the output any more."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere:  # Python must not flush again when it exits
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        return NO_READER
    except (OSError, ValueError, AttributeError):  # full, closed, or missing
        pass
    return code


def print_anywhere() -> None:
    """Let a console that supports only ASCII show `?` for other characters instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
