"""`understudy init`: a folder with a bot that plays and learns, its test, its training run and a README."""

from __future__ import annotations

import re
import shutil
from importlib.resources import files
from pathlib import Path
from string import Template

from understudy.errors import SettingsError
from understudy.games.zerg.proving_ground.bot_files import find_bot, load_class

FILES = {
    "run_with_training.py": "run_with_training.py.txt",
    "evaluation.py": "evaluation.py.txt",
    "test_bot.py": "test_bot.py.txt",
    "understudy.toml": "understudy.toml.txt",
    "Makefile": "Makefile.txt",
    "README.md": "README.md.txt",
    ".gitignore": "gitignore.txt",
}
"""Files of a new bot → their templates, beside `bot.py`."""


def init(folder: Path, race: str | None, from_bot: str | None = None) -> list[str]:
    """Make the folder of a new bot and return the names of its files.

    `from_bot` names an existing burnysc2 bot as in `understudy proving-ground play`; its file, or its whole folder, is
    copied, and the new bot adds learning to it.
    """
    name = folder.resolve().name
    words = re.findall(r"[A-Za-z0-9]+", name)
    class_name = "".join(word[0].upper() + word[1:] for word in words)
    if not class_name.isidentifier():
        raise SettingsError(f"{name!r} cannot be the name of a bot: begin it with a letter, as in my_bot.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingsError(f"{folder} exists and is not empty. Name a new folder.")
    given = {"CLASS": class_name, "NAME": name, "FILES": "bot.py"}
    if from_bot is None:
        if race is None:
            raise SettingsError("Name the race of the bot with --race, or an existing bot with --from-bot.")
        template = f"{race.lower()}.py.txt"
    else:
        given |= _own_bot(from_bot, race, class_name, folder)
        template = "from_bot.py.txt"
    folder.mkdir(parents=True, exist_ok=True)
    made = {"bot.py": template, **FILES}
    for target, source in made.items():
        content = (files(__package__) / "template" / source).read_text(encoding="utf-8")
        (folder / target).write_text(Template(content).safe_substitute(given), encoding="utf-8")
    return list(made)


def _own_bot(place: str, race: str | None, class_name: str, folder: Path) -> dict[str, str]:
    """Copy an existing bot beside the new one, and return what the template needs to know about it."""
    found = find_bot(place)
    chosen, its_race = load_class(place)
    if found.file is None:
        raise SettingsError(f"{place} is an installed module. Name the file or the folder of the bot.")
    if found.file.stem in {"bot", "evaluation", "test_bot", "run_with_training"} and not Path(place).is_dir():
        raise SettingsError(f"Rename {found.file.name} first: the new bot has a file with that name.")
    if chosen.__name__ == class_name:
        raise SettingsError(f"The existing bot's class is also called {class_name}; give the new folder another name.")
    folder.mkdir(parents=True, exist_ok=True)
    if Path(place).is_dir():
        package = re.sub(r"\W", "_", found.folder.name)
        ignored = shutil.ignore_patterns("__pycache__", ".*", "local_training", "data", "*.zip")
        shutil.copytree(found.folder, folder / package, ignore=ignored)
        module = f"{package}.{found.file.stem}"
        (folder / package / "__init__.py").touch()
    else:
        shutil.copy2(found.file, folder / found.file.name)
        module = found.file.stem
    return {"MODULE": module, "BASE": chosen.__name__, "RACE": race or its_race.name}
