"""The ladder zip of a user's bot: its files, the ladder core, its model and its memory of opponents."""

from __future__ import annotations

import ast
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sc2.data import Race

from understudy.agent import RLAgent
from understudy.errors import ModelMismatch, RunDirError, SettingsError
from understudy.games.spec import LadderPackage
from understudy.games.zerg.own_bot.settings import PackageSettings
from understudy.games.zerg.proving_ground.bot_files import find_bot, load_class
from understudy.games.zerg.spec import LEARNED, SC2_ON_THE_LADDER
from understudy.models.state import ModelState, read_model
from understudy.run.ladder_zip import RUN_PY, build_zip
from understudy.rundir import RunDir

_START = """\
import inspect

from understudy.sc2.ladder import play_ladder_game, rated
from {module} import {name}


def _make(data, options):
    wanted = inspect.signature({name}.__init__).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in wanted.values())
    return {name}(run_dir=data, **{{key: value for key, value in rated(options).items() if takes_all or key in wanted}})


def main(data):
    return play_ladder_game(_make, Race.{race}, data)
"""
_MOST_DEPTH = 4  # nested attributes: bot, manager, session, agent
_SECRETS = ("token", "secret", "password", ".env", ".pem", ".key")
_NEVER = ("__pycache__", "local_training", "understudy", ".git", ".venv")


def build_own_zip(settings: PackageSettings, run_dir: Path, target: Path) -> tuple[int, list[str]]:
    """Write the zip; returns its size and the names of the bot's own files in it.

    Raises ModelMismatch if the bot cannot play the model of the run without changes.
    """
    found = find_bot(settings.bot)
    if found.file is None:
        raise SettingsError(f"package.bot is {settings.bot!r}, an installed module; name a file, as in bot.py:MyBot.")
    chosen, race = load_class(settings.bot)
    run = RunDir.at(run_dir)
    if not run.model.exists():
        raise RunDirError(f"There is no model in {run.root}; play a game with the bot first.")
    require_fit(chosen, read_model(run.model), run)
    names = own_files(found.file, found.folder, settings.files)
    own = {name: (found.folder / name).read_bytes() for name in names}
    if "run.py" not in own:
        module = ".".join(found.file.relative_to(found.folder).with_suffix("").parts)
        own["run.py"] = run_py(module, chosen.__name__, race).encode()
    size = build_zip(LadderPackage("", SC2_ON_THE_LADDER, LEARNED), run_dir, target, own)
    return size, sorted(own)


def run_py(module: str, name: str, race: Race) -> str:
    """The program that the ladder starts."""
    start = _START.format(module=module, name=name, race=race.name)
    return RUN_PY.format(start=f"from sc2.data import Race\n{start}", function="main")


def require_fit(chosen: type[Any], state: ModelState, run: RunDir) -> None:
    """Raise ModelMismatch unless the bot plays this model without a change of features or strategies."""
    with tempfile.TemporaryDirectory(prefix="understudy-package-", ignore_cleanup_errors=True) as folder:
        scratch = RunDir.at(folder)
        scratch.create()
        shutil.copyfile(run.model, scratch.model)
        try:
            bot = chosen(run_dir=folder)
        except ModelMismatch as error:
            raise ModelMismatch(f"The model in {run.root} does not fit {chosen.__name__}: {error}") from error
        except TypeError as error:
            raise SettingsError(
                f"{chosen.__name__}(run_dir=...) fails: {error}. The ladder's data folder is given to the bot as "
                "run_dir; take it and hand it to RLAgent(run_dir=...)."
            ) from error
        agent = agent_of(bot)
        if agent is None:
            raise SettingsError(
                f"{chosen.__name__} has no RLAgent after __init__. Make one in __init__ and keep it in an attribute."
            )
        with agent:
            features, actions = agent.features, agent.actions
    changes = _difference("strategies", state.spec.actions, actions)
    changes += _difference("features", state.features or (), features or ())
    if state.spec.state_dim != agent.state_dim:
        changes.append(f"{state.spec.state_dim} features there, {agent.state_dim} here")
    if changes:
        raise ModelMismatch(
            f"The model in {run.root} does not fit {chosen.__name__}: {'; '.join(changes)}. If it is an earlier model "
            "of this bot, play a game: then it follows the names. Otherwise name the run of this bot."
        )


def agent_of(bot: Any) -> RLAgent | None:
    """The agent of a bot, in an attribute of the bot or of its parts."""
    waiting, seen = [(bot, 0)], {id(bot)}
    while waiting:
        holder, depth = waiting.pop(0)
        if isinstance(holder, RLAgent):
            return holder
        for part in getattr(holder, "__dict__", {}).values():
            if id(part) not in seen and depth < _MOST_DEPTH:
                seen.add(id(part))
                waiting.append((part, depth + 1))
    return None


def _difference(kind: str, there: tuple[str, ...], here: tuple[str, ...]) -> list[str]:
    if there == here:
        return []
    lost, new = [n for n in there if n not in here], [n for n in here if n not in there]
    parts = [f"the bot has no {', '.join(lost[:4])}"] * bool(lost) + [f"the model has no {', '.join(new[:4])}"] * bool(
        new
    )
    return [f"{kind}: {' and '.join(parts) or 'another order'}"]


def own_files(entry: Path, folder: Path, more: str = "") -> list[str]:
    """The files for a zip: the bot's, what it imports from its folder, run.py, and files that match the patterns."""
    found = set(_imported(entry, folder))
    if (folder / "run.py").is_file():
        found |= set(_imported(folder / "run.py", folder))
    for pattern in filter(None, (part.strip() for part in more.split(","))):
        matches = [path for path in folder.glob(pattern) if path.is_file()] if _is_inside(pattern) else []
        if not matches:
            raise SettingsError(f"package.files names {pattern!r}, but {folder} has no such file.")
        found |= set(matches)
    names = sorted(path.relative_to(folder).as_posix() for path in found)
    for name in names:
        if any(word in Path(name).name.lower() for word in _SECRETS) and not name.endswith(".py"):
            raise SettingsError(f"{name} looks like a secret, and the zip may be public; it cannot be packed.")
        if Path(name).parts[0] in _NEVER:
            raise SettingsError(f"{name} cannot be in the zip: the name {Path(name).parts[0]} is reserved there.")
    return names


def _is_inside(pattern: str) -> bool:
    return not Path(pattern).is_absolute() and ".." not in Path(pattern).parts


def _imported(entry: Path, folder: Path) -> Iterator[Path]:
    """A file and all files of its folder that it imports, directly or indirectly; packages are included as a whole."""
    seen: set[Path] = set()
    waiting = [entry]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        yield path
        for name in _names_imported(path, folder):
            top = folder / name.partition(".")[0]
            if top.is_dir() and top.name not in _NEVER:
                waiting += top.rglob("*.py")
            elif top.with_suffix(".py").is_file():
                waiting.append(top.with_suffix(".py"))


def _names_imported(path: Path, folder: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not a Python file: {error}.") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or ""
        elif isinstance(node, ast.ImportFrom):  # its own package, which is included as a whole
            if (inside := path.relative_to(folder).parts)[:-1]:
                yield inside[0]
            yield from (alias.name for alias in node.names)
