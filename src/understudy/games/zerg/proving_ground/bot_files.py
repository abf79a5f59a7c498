"""Loads a bot from a file, from a ladder folder or by the path of a module, and finds its race.

`rush.py`, `rush.py:Second` (one of two classes), `my_ladder_bot/` (its run.py, or a similar name), `package.module` and
`package.module:Class` all name a bot. Files that belong to a package are imported as part of it.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from sc2.bot_ai import BotAI
from sc2.data import Race
from sc2.player import Bot

from understudy.errors import SettingsError

ENTRIES = ("run.py", "ladder.py", "main.py", "start.py", "bot.py", "__main__.py", "__init__.py")  # of a folder
_OWN_CLIENTS = (".", "python-sc2")  # where a ladder folder keeps its own python-sc2
_WITH_ANOTHER_CLIENT = (
    "If it is written for another python-sc2, play its own program, in a Python that has that version: "
    "--door program --python PATH."
)
_FIRST_MODULES = set(sys.modules)  # these do not belong to a bot


@dataclass(frozen=True)
class BotPlace:
    """Where a bot is: a file or the path of a module, the folder it runs in, and its class if one was named."""

    label: str
    file: Path | None
    module: str
    folder: Path
    class_name: str | None = None

    @property
    def is_entry(self) -> bool:
        """Whether the file is one that a ladder starts."""
        return self.file is not None and self.file.name in ENTRIES


def find_bot(text: str | Path) -> BotPlace:
    """What a bot's name on the command line means."""
    text = str(text)
    path, class_name = Path(text), None
    if not path.exists() and ":" in text:
        text, _, class_name = text.rpartition(":")
        path = Path(text)
    if path.is_dir():
        entries = [path / name for name in (*ENTRIES, f"{path.resolve().name}.py") if (path / name).is_file()]
        if not entries:
            raise SettingsError(f"{path} has none of {', '.join(ENTRIES)}; give the Python file of the bot.")
        return BotPlace(path.resolve().name, entries[0].resolve(), "", path.resolve(), class_name)
    if path.is_file():
        return BotPlace(path.stem, path.resolve(), "", path.resolve().parent, class_name)
    if path.suffix == ".py" or not all(part.isidentifier() for part in text.split(".")):
        raise SettingsError(
            f"{text} is not a file; give a Python file with a BotAI class, a bot's folder, or the path of a module."
        )
    return BotPlace(text, None, text, Path.cwd(), class_name)


def brings_its_own_client(place: BotPlace) -> bool:
    """Whether a ladder folder has its own python-sc2, which this process cannot load beside the installed one."""
    return place.is_entry and any((place.folder / upper / "sc2" / "__init__.py").is_file() for upper in _OWN_CLIENTS)


def load_bot(place: str | Path, race: str | None = None, name: str | None = None) -> Bot:
    """A new bot. Its race is given, or found in its code as `Bot(Race.X, ...)`; otherwise it is random."""
    chosen, own_race = load_class(place, name)
    return Bot(Race[race] if race else own_race, chosen(), name=find_bot(place).label)


def load_class(place: str | Path, name: str | None = None) -> tuple[type[BotAI], Race]:
    """The class of a bot, and the race that its code declares."""
    found = find_bot(place)
    _forget_other_bots(found.folder)
    with contextlib.chdir(found.folder), _arguments(found):  # bots read their own files as they are imported
        try:
            module = _import(found)
        except ImportError as error:
            raise SettingsError(f"{found.label} cannot be loaded: {error}. {_WITH_ANOTHER_CLIENT}") from error
        except SystemExit as end:
            raise SettingsError(f"{found.label} ended while it was loaded, with exit code {end.code}.") from end
    chosen = _class_in(module, found, name or found.class_name)
    file = Path(module.__file__) if module.__file__ else None
    return chosen, _race_of(chosen, file, found.folder)


@contextlib.contextmanager
def _arguments(found: BotPlace) -> Iterator[None]:
    """Hide the command line from files that read it when they are imported."""
    before = sys.argv
    sys.argv = [str(found.file or found.module)]
    try:
        yield
    finally:
        sys.argv = before


def _forget_other_bots(folder: Path) -> None:
    """Drop modules of bots loaded before: many bots call their packages `bot`."""
    for name, module in list(sys.modules.items()):
        if name in _FIRST_MODULES:
            continue
        file = getattr(module, "__file__", None)
        roots = [root for root in _roots if root != folder]
        if file and "site-packages" not in file and any(root in Path(file).parents for root in roots):
            del sys.modules[name]
    for root in [root for root in _roots if root != folder]:
        _roots.remove(root)
        while str(root) in sys.path:
            sys.path.remove(str(root))


_roots: list[Path] = []  # folders of bots on sys.path


def _add_root(folder: Path) -> None:
    if folder not in _roots and str(folder) not in sys.path:
        _roots.append(folder)
        sys.path.insert(0, str(folder))


def _import(found: BotPlace) -> ModuleType:
    _add_root(found.folder)
    if found.file is None:
        return _imported(found.module, found)
    top = found.file.parent
    while (top / "__init__.py").is_file() and top.parent != top:
        top = top.parent
    if top != found.file.parent and _imports_relatively(found.file):
        _add_root(top)
        dotted = found.file.relative_to(top).with_suffix("").parts
        return _imported(".".join(dotted).removesuffix(".__init__"), found)
    try:
        return _imported_from(found)
    except ModuleNotFoundError as missing:
        # A file of a package without __init__.py, which names its package: `from bot.x import ...`.
        if (missing.name or "").split(".")[0] not in [parent.name for parent in found.file.parents]:
            raise SettingsError(f"{found.file} imports {missing.name}, which is not installed.") from missing
        upper = next(p for p in found.file.parents if p.name == (missing.name or "").split(".")[0]).parent
        sys.modules.pop((missing.name or "").split(".")[0], None)
        _add_root(upper)
        return _imported_from(found)


def _imported(dotted: str, found: BotPlace) -> ModuleType:
    try:
        return importlib.import_module(dotted)
    except ModuleNotFoundError as missing:
        if missing.name == dotted.split(".", maxsplit=1)[0] or missing.name == dotted:
            raise SettingsError(f"{found.label} is neither a file nor a folder nor a module here.") from missing
        raise SettingsError(f"{found.label} imports {missing.name}, which is not installed.") from missing


def _imported_from(found: BotPlace) -> ModuleType:
    assert found.file is not None, "only called for files"
    module_name = f"bot_file_{found.file.stem}"
    spec = importlib.util.spec_from_file_location(module_name, found.file)
    if spec is None or spec.loader is None:
        raise SettingsError(f"{found.file} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    return module


def _imports_relatively(file: Path) -> bool:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in ast.walk(tree))


def _class_in(module: ModuleType, found: BotPlace, name: str | None) -> type[BotAI]:
    """The bot's class: the named one, the one that the file plays with, or the only one that is not a base class."""
    there = [c for _, c in inspect.getmembers(module, inspect.isclass) if issubclass(c, BotAI)]
    there = [c for c in there if not c.__module__.startswith("sc2.")]
    if name is not None:
        there = [c for c in there if c.__name__ == name]
        if not there:
            raise SettingsError(f"{found.label} defines no subclass of sc2.bot_ai.BotAI named {name}.")
        return there[0]
    if not there:
        raise SettingsError(f"{found.label} defines no subclass of sc2.bot_ai.BotAI.")
    own = [c for c in there if c.__module__ == module.__name__] or there
    leaves = [c for c in own if not any(other is not c and issubclass(other, c) for other in own)]
    if len(leaves) > 1 and module.__file__:
        played = [maker for maker, _ in _bots_made_in(Path(module.__file__))]
        leaves = [c for c in leaves if c.__name__ in played] or leaves
        if found.is_entry and played and len(leaves) > 1:  # a ladder's entry plays the first; the others are rivals
            leaves = [c for c in leaves if c.__name__ == played[0]] or leaves
    if len(leaves) > 1:
        names = ", ".join(c.__name__ for c in leaves)
        example = f"{found.file or found.module}:{leaves[0].__name__}"
        raise SettingsError(f"{found.label} has several bots: {names}. Name one, as in {example}")
    return leaves[0]


def _race_of(chosen: type[BotAI], file: Path | None, folder: Path) -> Race:
    """The race that the class declares as RACE, or that the code gives its bot; Random if there is none."""
    if isinstance(declared := getattr(chosen, "RACE", None), Race):
        return declared
    files = [file] if file is not None else []
    files += [place / entry for place in (folder, folder.parent) for entry in ENTRIES if (place / entry).is_file()]
    with contextlib.suppress(TypeError, OSError):
        files.append(Path(inspect.getfile(chosen)))
    for each in files:
        made = list(_bots_made_in(each))
        for maker, race in made:
            if maker == chosen.__name__:
                return race
        if len(races := {race for _, race in made}) == 1:  # otherwise made in a way that is not followed
            return races.pop()
    return Race.Random


def _bots_made_in(path: Path) -> Iterator[tuple[str, Race]]:
    """Every `Bot(Race.X, Maker())` of a file, in order: the class and the race; `Maker()` may be a variable."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return
    variables = dict(_variables_in(tree))
    calls = sorted((node for node in ast.walk(tree) if isinstance(node, ast.Call)), key=lambda call: call.lineno)
    for node in calls:
        if len(node.args) < 2:
            continue
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        race = _race_named(node.args[0])
        if called == "Bot" and race is not None:
            name = _maker_named(node.args[1])
            yield variables.get(name, name), race


def _variables_in(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Variables that hold a new object: the variable and the class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, _maker_named(node.value)


def _maker_named(node: ast.expr) -> str:
    maker = node.func if isinstance(node, ast.Call) else node
    return maker.id if isinstance(maker, ast.Name) else getattr(maker, "attr", "")


def _race_named(node: ast.expr) -> Race | None:
    if isinstance(node, ast.Attribute):
        word = node.attr
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        word = str(node.slice.value)
    else:
        return None
    return Race[word] if word in Race.__members__ else None
