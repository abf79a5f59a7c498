"""Loads settings from a TOML file, environment variables and flags, and converts settings to flags."""

from __future__ import annotations

import dataclasses
import json
import os
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from understudy.errors import SettingsError, explained
from understudy.games.spec import registered_games
from understudy.settings.defaults import CORE_SECTIONS, Settings, sections
from understudy.settings.fields import convert, fields_of, known_name, parse, sane_value

FILE_NAME = "understudy.toml"
ENVIRONMENT_PREFIX = "UNDERSTUDY_"
# Variables that bot runners already set. An UNDERSTUDY_ variable for the same setting overrides them: it is read later.
FAMILIAR_VARIABLES = {"NUM_INSTANCES": ("learner", "max_workers")}


def load_settings(
    file: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
    defaults: Mapping[str, Mapping[str, Any]] | None = None,
) -> Settings:
    """Load settings from a TOML file, then `UNDERSTUDY_…` variables, then flags; later ones override earlier ones.

    `file=None` reads `understudy.toml` in the working directory if it exists. `flags` maps `section.name` to text.
    `defaults`, by section, replace the general ones.
    """
    given = given_settings(file, environment, flags)
    changed = defaults or {}
    made = {name: kind(**{**changed.get(name, {}), **given[name]}) for name, kind in sections().items()}
    core = {name: made.pop(name) for name in CORE_SECTIONS}
    return Settings(**core, games={name: section for name, section in made.items() if section != type(section)()})


def given_settings(
    file: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
) -> dict[str, dict[str, Any]]:
    """Only the values that were set, by section, from the same sources as `load_settings`."""
    values: dict[str, dict[str, Any]] = {section: {} for section in sections()}
    for section, key, value, where in _file_values(file):
        f = _field_of(section, key, where)
        values[section][f.name] = sane_value(f, convert(f, value, where), where)
    for section, key, text, where in (*_environment_values(environment), *_flag_values(flags or {})):
        f = _field_of(section, key, where)
        values[section][f.name] = sane_value(f, convert(f, parse(f, text), where), where)
    return values


def section_from(section: str, values: Mapping[str, Any], where: str) -> Any:
    """A section from plain values, as in a model file; an unknown key is an error."""
    fields = {
        f.name: convert(f, value, where) for f, value in ((_field_of(section, k, where), v) for k, v in values.items())
    }
    return sections()[section](**fields)


def as_flags(settings: Settings, names: Iterable[str], always: Container[str] = ()) -> list[str]:
    """The command-line flags that turn the defaults of these sections into these settings.

    Settings in `always` (`section.name`) get a flag even if they have their default, so that no file can change them.
    """
    flags = []
    kinds = sections()
    for section in names:
        for f in dataclasses.fields(kinds[section]):
            value = getattr(getattr(settings, section), f.name)
            if value != f.default or f"{section}.{f.name}" in always:
                text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
                flags += [f"--{section}.{f.name.replace('_', '-')}", text]
    return flags


def describe() -> Iterator[tuple[str, str, str, str]]:
    """Yield (section, name, default, meaning) of every setting, for help texts and the documentation."""
    for section, kind in sections().items():
        for f in dataclasses.fields(kind):
            yield section, f.name, json.dumps(f.default), f.metadata["doc"]


def _familiar_variables() -> dict[str, tuple[str, str]]:
    added = {name: place for spec in registered_games().values() for name, place in spec.variables.items()}
    return {**added, **FAMILIAR_VARIABLES}


def _field_of(section: str, key: str, where: str) -> dataclasses.Field[Any]:
    fields = {f.name: f for f in fields_of(sections()[section])}
    return fields[known_name(key, fields, where, f"setting of [{section}]")]


def _file_values(file: str | os.PathLike[str] | None) -> Iterator[tuple[str, str, Any, str]]:
    path = Path(FILE_NAME if file is None else file)
    if file is None and not os.path.lexists(path):  # a dangling link is an error
        return
    try:
        text = path.read_text(encoding="utf-8-sig")  # Windows editors may start the file with a byte order mark
        document = tomllib.loads(text)
    except FileNotFoundError:
        link = f": it is a link to {path.readlink()}" if path.is_symlink() else ""
        raise SettingsError(f"There is no settings file {path}{link}.") from None
    except UnicodeDecodeError:
        raise SettingsError(f"The settings file {path} is not UTF-8 text. Save it as UTF-8.") from None
    except OSError as error:
        raise SettingsError(f"The settings cannot be read. {explained(error)}") from error
    except tomllib.TOMLDecodeError as error:
        hint = " Write paths of Windows with / or in 'single quotes'." if "\\" in text else ""
        raise SettingsError(f"The settings file {path} cannot be read: {error}.{hint}") from error
    for section, entries in document.items():
        homes = [name for name, kind in sections().items() if section in (f.name for f in fields_of(kind))]
        if homes and section not in sections():
            raise SettingsError(f"{path}: {section} is a setting; write it below a line [{'] or ['.join(homes)}].")
        known_name(section, sections(), f"{path}", "section")
        if not isinstance(entries, dict):
            raise SettingsError(f"{path}: {section} is a section; write its settings below a line [{section}].")
        for key, value in entries.items():
            yield section, key, value, f"{path}: [{section}] {key}"


def _environment_values(environment: Mapping[str, str] | None) -> Iterator[tuple[str, str, str, str]]:
    given = dict(os.environ if environment is None else environment)
    for variable, place in _familiar_variables().items():
        if variable in given:
            yield *place, given[variable], variable
    for variable, text in sorted(given.items()):
        if variable.startswith(ENVIRONMENT_PREFIX):
            section, _, key = variable.removeprefix(ENVIRONMENT_PREFIX).lower().partition("_")
            if not key and section in sections():
                raise SettingsError(f"{variable} names a section; name one of its settings: {variable}_…")
            yield known_name(section, sections(), variable, "section"), key, text, variable


def _flag_values(flags: Mapping[str, str]) -> Iterator[tuple[str, str, str, str]]:
    for flag, text in flags.items():
        section, _, key = flag.partition(".")
        yield known_name(section, sections(), f"--{flag}", "section"), key.replace("-", "_"), text, f"--{flag}"
