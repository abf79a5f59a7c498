"""A bot from a file that somebody else wrote: its class, and the race it plays."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import sys
from pathlib import Path

from sc2.bot_ai import BotAI
from sc2.data import Race
from sc2.player import Bot

from understudy.errors import SettingsError


def load_bot(path: Path, race: str | None = None, name: str | None = None) -> Bot:
    """A fresh bot of the file's BotAI class; the race is given, or found in the file's own `Bot(Race.X, ...)`."""
    if not path.is_file():
        raise SettingsError(f"{path} is no file; give the path of a Python file with a BotAI class.")
    module_name = f"bot_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise SettingsError(f"{path} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    classes = [
        c
        for _, c in inspect.getmembers(module, inspect.isclass)
        if issubclass(c, BotAI) and c.__module__ == module_name
    ]
    if name is not None:
        classes = [c for c in classes if c.__name__ == name]
    if not classes:
        raise SettingsError(f"{path} defines no subclass of sc2.bot_ai.BotAI{f' named {name}' if name else ''}.")
    chosen = classes[-1]
    return Bot(Race[race] if race else race_in(path, chosen.__name__), chosen(), name=path.stem)


def race_in(path: Path, class_name: str) -> Race:
    """The race the file itself gives its bot; Random when it does not say."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "Bot"
            and len(node.args) >= 2
        ):
            continue
        first, second = node.args[0], node.args[1]
        maker = second.func if isinstance(second, ast.Call) else second
        if (
            isinstance(first, ast.Attribute)
            and isinstance(maker, ast.Name)
            and maker.id == class_name
            and first.attr in Race.__members__
        ):
            return Race[first.attr]
    return Race.Random
