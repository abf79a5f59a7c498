"""GameSpec: everything that the core needs to know about a game.

A package adds a game by registering a GameSpec under the entry point group `understudy.games`; no core module names a
game. Parts that need heavy libraries are given as text, "package.module:name", and imported when they are used.
docs/add-a-game.md explains each field with a complete example.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from understudy.errors import GameFailed, SettingsError, missing_library

logger = logging.getLogger(__name__)

GROUP = "understudy.games"
Reference = str | Callable[..., Any]
"""A function or class, or its location as the text "package.module:name"."""


@dataclass(frozen=True, slots=True)
class ResultAxis:
    """A way to break results down: the note of a recorded game (`end_episode(colour=…)`) and its title."""

    note: str
    title: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the dashboard, at /run/RUN/`name`.

    `show(watched)` builds it with NiceGUI and returns functions that the dashboard calls after every refresh, or None.
    `wanted(run, snapshot)` says whether there is something to show. A page that can play recordings names the suffix of
    their files in `plays`; `?file=NAME` in its address selects one of `games/` in the run.
    """

    name: str
    title: str
    show: Reference
    wanted: Reference
    plays: str = ""


@dataclass(frozen=True, slots=True)
class BackgroundWork:
    """Work that the learner does in worker processes beside training, if requested by `understudy learn --NAME`.

    `start(run, ledger, settings, say)` returns a `jobs.queue.Work`, or None if there is nothing to do, and raises
    SettingsError if a library is missing. `figures` maps the attributes of this work that get_stats() shows to (name in
    get_stats(), name in reports). `summary(ledger, run, waiting)` describes what has been done in the run so far.
    """

    name: str
    title: str
    help: str
    start: Reference
    check: Reference
    figures: Mapping[str, tuple[str, str]]
    waiting: str
    summary: Reference


@dataclass(frozen=True, slots=True)
class WorkSummary:
    """What background work has done in a run: a line for people, and counts by outcome."""

    line: str
    counts: Mapping[str, int]
    changed_at: float | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing has been done yet and nothing is waiting."""
        return not any(self.counts.values())


@dataclass(frozen=True, slots=True)
class SelfPlaySetup:
    """What a game adds to a self-play run: an argument for its matches, and what to do after each update."""

    argument: str = ""
    after_update: Callable[[Any], object] = field(default=lambda _: None)


@dataclass(frozen=True, slots=True)
class LadderPackage:
    """What the zip for a ladder contains besides the ladder core and the model; see run/ladder_zip.py.

    `start` is "package.module:function"; the zip's `run.py` calls it with the data folder and exits with its return
    value. `modules` are files and folders below `understudy`, `learned` files of the run directory.
    """

    start: str
    modules: tuple[str, ...]
    learned: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Contestants:
    """External opponents for versions of a game in `understudy arena`, such as other programs or levels of the game.

    `known(name)` says whether a name is one of them; `names` lists them for people.
    """

    names: str
    known: Reference
    seat: Reference | None = None
    """For two players: `seat(name, game, rng)` returns a `parallel.arena.ArenaSeat` in the matches of `game`."""
    matches: Reference | None = None
    """For two players: `matches(count)` makes the matches, if those of training are not even games."""
    play: Reference | None = None
    """For one player: `play(name, model, first, games)` plays these games with a model file against it, and returns
    what an evaluator returns."""


@dataclass(frozen=True, kw_only=True)
class GameSpec:
    """One game. Only `name` is required; a game without `matches` cannot be trained by self-play."""

    name: str
    title: str = ""
    """The name on pages and in reports."""
    matches: Reference | None = None
    """`matches(count, *argument)` makes a `Game` of that many matches; `argument` is what follows a colon in a name."""
    sections: Mapping[str, type[Any]] = field(default_factory=dict)
    """Sections of settings that this game adds; each is a frozen dataclass of `settings.setting` fields."""
    variables: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Environment variables that existing users know, and the (section, setting) that each one sets."""
    features: Reference | None = None
    """Names of the features of a state, in order."""
    evaluator: Reference | None = None
    """`evaluator(model, first, games)` plays evaluation games with a model file; see docs/add-a-game.md."""
    rivals: Mapping[str, Reference] = field(default_factory=dict)
    """Scripted opponents of a game of two: name → `decide(states, legal, rng)`, which returns an action per match."""
    contestants: Contestants | None = None
    """External opponents for `understudy arena`."""
    axes: tuple[ResultAxis, ...] = ()
    """The axes by which results are broken down, the most informative first."""
    work: tuple[BackgroundWork, ...] = ()
    commands: Reference | None = None
    """`commands(subparsers)` adds commands to `understudy`."""
    programs: Mapping[str, tuple[Reference, str]] = field(default_factory=dict)
    """Commands that parse their own arguments: name → (`main(arguments)`, help)."""
    check: str = ""
    """The command that checks that this game can be learned, for `understudy learn-check --suite NAME`."""
    pages: tuple[Page, ...] = ()
    metrics: Reference | None = None
    """Metrics of the pages, a tuple of `watch.metrics.Metric`."""
    networks: Mapping[str, Reference] = field(default_factory=dict)
    """Networks that `network.policy` may name in addition to the core's."""
    selfplay: Reference | None = None
    """`selfplay(run, settings)` returns a SelfPlaySetup."""
    counts: tuple[str, ...] = ()
    """Files of the run directory with counts in JSON, such as results by opponent; machines that share a bucket add
    them up. A file NAME is written whole, by the holder of the `files.locks.FileLock` NAME.lock."""
    package: LadderPackage | None = None
    """The zip for a ladder; None for a game without a ladder."""

    def __post_init__(self) -> None:
        if not all(isinstance(axis, ResultAxis) for axis in self.axes):
            raise SettingsError(f"The GameSpec {self.name!r}: `axes` must hold ResultAxis objects, not {self.axes!r}.")
        if not isinstance(self.rivals, Mapping):
            raise SettingsError(f"The GameSpec {self.name!r}: `rivals` must map names to functions.")

    @property
    def shown(self) -> str:
        """The title, or the name if there is none."""
        return self.title or self.name


def resolve(reference: Reference) -> Any:
    """The object of a reference; SettingsError if it cannot be imported.

    A module may be installed or be a file in the current folder.
    """
    if not isinstance(reference, str):
        return reference
    module, _, name = reference.partition(":")
    if not module or module.startswith("."):
        raise SettingsError(f"{reference!r} does not name a module; write package.module:NAME.")
    try:
        return functools.reduce(getattr, name.split("."), import_here(module))
    except ModuleNotFoundError as error:
        if missing_library(error) is not None and not f"{module}.".startswith(f"{error.name}."):
            raise  # a library is missing: the command line says which extra installs it
        here = f" It is neither installed nor a file in the current folder, {Path.cwd()}."
        unknown = f"{module}.".startswith(f"{error.name}.")
        raise SettingsError(f"{reference} cannot be imported: {error}.{here if unknown else ''}") from error
    except (ImportError, AttributeError) as error:
        raise SettingsError(f"{reference} cannot be imported: {error}.") from error


def name_of(reference: Reference) -> str:
    """A reference as text, "package.module:name"."""
    return reference if isinstance(reference, str) else f"{reference.__module__}:{reference.__qualname__}"


def play_evaluation(
    evaluator: Reference, model: Path | str, first: int, games: int
) -> tuple[str, list[dict[str, str]]]:
    """Play evaluation games: a letter W, L or T for each game, and its values by result axis if there are any."""
    played = resolve(evaluator)(model=str(model), first=first, games=games)
    results = evaluation_results(played, games)
    axes = [{str(axis): str(value) for axis, value in values.items()} for values in played.get("axes") or ()]
    if axes and len(axes) != games:
        raise GameFailed(f"The evaluator returned {len(axes)} axes for {games} games; one mapping per game is needed.")
    return results, axes


def evaluation_results(played: Any, games: int) -> str:
    """The letters that an evaluator returned; GameFailed unless there is one of W, L and T for each game."""
    results = played.get("results") if isinstance(played, Mapping) else None
    if not isinstance(results, str) or len(results) != games or set(results) - set("WLT"):
        raise GameFailed(
            f"The evaluator returned {played!r:.100}; it must return a mapping whose 'results' is a text of {games} "
            "letters, W, L or T for each game (docs/add-a-game.md)."
        )
    return results


def import_here(module: str) -> Any:
    """Import a module that is installed, or a file in the current folder, which is not on the path of commands."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(module)


@functools.cache
def registered_games() -> Mapping[str, GameSpec]:
    """Every registered game, by name. A broken plug-in is reported and left out: it must not stop the others."""
    found: dict[str, GameSpec] = {}
    ours_first = sorted(entry_points(group=GROUP), key=lambda e: (not e.value.startswith("understudy."), e.name))
    for entry in ours_first:
        try:
            spec = entry.load()
        except Exception as error:  # noqa: BLE001 - other people's packages may fail in any way
            logger.warning("The game %s (%s) cannot be loaded: %s", entry.name, entry.value, error)
            continue
        if not isinstance(spec, GameSpec):
            logger.warning("The game %s (%s) is not a GameSpec but %r.", entry.name, entry.value, spec)
        elif spec.name in found:
            logger.warning("The game %s (%s) is left out: another game has the same name.", spec.name, entry.value)
        else:
            found[spec.name] = spec
    return found


def find_game(name: str) -> GameSpec:
    """The spec of a game by its registered name, or by `package.module:attribute`.

    The attribute is a GameSpec, or a function that makes matches. What follows the name of a registered game after a
    colon is an argument for its matches.
    """
    kind, _, rest = name.partition(":")
    games = registered_games()
    if kind in games:
        return games[kind]
    if not rest:
        near = difflib.get_close_matches(name, games, 1)
        meant = f"; did you mean {near[0]}?" if near else "."
        raise SettingsError(
            f"There is no game {name!r}{meant} Known games: {', '.join(sorted(games))}. "
            "Name another one as package.module:SPEC, or a Gymnasium environment with --env ID."
        )
    found = resolve(name)
    return found if isinstance(found, GameSpec) else GameSpec(name=name, matches=found)


def argument_of(name: str) -> str:
    """The part after the colon in the name of a registered game: `CartPole-v1` in `gym:CartPole-v1`."""
    kind, _, rest = name.partition(":")
    return rest if kind in registered_games() else ""


def all_axes() -> Iterator[ResultAxis]:
    """The result axes of all registered games."""
    for spec in registered_games().values():
        yield from spec.axes


def axis_title(note: str) -> str:
    """The title of a result axis: as a game declares it, otherwise made from the name of the note."""
    return next((axis.title for axis in all_axes() if axis.note == note), note.replace("_", " ").capitalize())


def all_work() -> dict[str, BackgroundWork]:
    """The background work of all registered games, by name."""
    return {work.name: work for spec in registered_games().values() for work in spec.work}


def all_pages() -> tuple[Page, ...]:
    """The dashboard pages of all registered games."""
    return tuple(page for spec in registered_games().values() for page in spec.pages)


def page_wanted(page: Page, run: Any, snapshot: Any) -> bool:
    """Whether a page has something to show for a run; False if its library is not installed."""
    try:
        return bool(resolve(page.wanted)(run, snapshot))
    except (ModuleNotFoundError, SettingsError) as error:
        logger.debug("The page %s is not shown: %s", page.name, error)
        return False


def networks_of_games() -> dict[str, Reference]:
    """The networks that registered games add, by their names in `network.policy`."""
    return {name: place for spec in registered_games().values() for name, place in spec.networks.items()}


def find_work(name: str) -> BackgroundWork:
    """The background work of this name; SettingsError if no registered game has it."""
    try:
        return all_work()[name]
    except KeyError:
        known = ", ".join(sorted(all_work())) or "none"
        raise SettingsError(f"No installed game has the background work {name!r}; known: {known}.") from None
