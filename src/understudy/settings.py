"""Every setting, once: documented dataclasses that a TOML file, the environment and flags fill, in that order.

[training]                        # understudy.toml
learning_rate = 3e-4

UNDERSTUDY_TRAINING_LEARNING_RATE=3e-4
understudy learn RUN_DIR --training.learning-rate 3e-4
"""

import dataclasses
import difflib
import json
import math
import os
import tomllib
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from understudy.errors import SettingsError
from understudy.games.spec import networks_of_games, registered_games

FILE_NAME = "understudy.toml"
ENVIRONMENT_PREFIX = "UNDERSTUDY_"
# Variables that bot runners set already. An UNDERSTUDY_ variable for the same setting wins: it is read later.
FAMILIAR_VARIABLES = {"NUM_INSTANCES": ("learner", "max_workers")}


def setting(
    default: Any,
    doc: str,
    at_least: float | None = None,
    at_most: float | None = None,
    choices: Callable[[], Iterable[str]] | None = None,
) -> Any:
    """A field of a section: its default, what it means, the range of a number, or the choices there are."""
    return field(default=default, metadata={"doc": doc, "at_least": at_least, "at_most": at_most, "choices": choices})


class Section:
    """A group of settings. Every way to make one, dataclasses.replace() included, checks each value."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for f in dataclasses.fields(self):  # type: ignore[arg-type]
            _check(f, getattr(self, f.name), f"{type(self).__name__}.{f.name}")


@dataclass(frozen=True, slots=True)
class NetworkSettings(Section):
    """The shape of the network, given by the bot that makes the model. Another shape means another model."""

    policy: str = setting(
        "mlp",
        "the kind of network: mlp, conv, transformer, or one that a game adds (resnet, in torch)",
        choices=lambda: ("mlp", "conv", "transformer", *networks_of_games()),
    )
    hidden: tuple[int, ...] = setting((128, 64), "mlp, conv: width of each hidden layer", 1)
    separate: bool = setting(False, "mlp: policy and value each have hidden layers of their own")
    image: tuple[int, ...] = setting((), "conv: height, width and channels of a state", 1)
    filters: tuple[int, ...] = setting((16,), "conv: number of filters of each convolution", 1)
    kernels: tuple[int, ...] = setting((3,), "conv: side of the filters of each convolution, in pixels", 1)
    strides: tuple[int, ...] = setting((1,), "conv: distance between two places of a filter, in pixels", 1)
    context: int = setting(16, "transformer: how many of the last states a layer looks at", 1)
    width: int = setting(64, "transformer: width of a layer; a multiple of heads", 1)
    heads: int = setting(4, "transformer: attention heads", 1)
    layers: int = setting(2, "transformer: number of layers", 1)
    blocks: int = setting(9, "resnet: residual blocks", 0)
    channels: int = setting(256, "resnet: width of the tower", 1)
    se_ratio: float = setting(
        0.25, "resnet: width of the squeeze-and-excitation layers as a share of channels; 0 = none", 0, 1
    )
    policy_head: Literal["attention", "linear"] = setting("attention", "resnet: from-to attention, or a linear layer")
    attention_width: int = setting(32, "resnet: length of the attention head's queries and keys", 1)
    value_width: int = setting(64, "resnet: width of the value head's hidden layer", 1)


@dataclass(frozen=True, slots=True)
class TrainingSettings(Section):
    """How the model learns. It travels with the model, so that bot and learner train alike; either may change it."""

    algorithm: Literal["ppo", "reinforce"] = setting(
        "ppo", "ppo corrects for experience of an older policy; reinforce does not"
    )
    learning_rate: float = setting(6e-4, "Adam's learning rate at most; it adjusts itself, down to 0.03 times this", 0)
    learning_rate_half_life: float = setting(
        0.0, "games learned from until the step size is half, in the long run a tenth, of that; 0 = it stays", 0
    )
    gamma: float = setting(0.99, "discount of a reward one decision later", 0, 1)
    gae_lambda: float = setting(0.97, "trust in observed rewards (1) over the value estimate (0)", 0, 1)
    epochs: int = setting(10, "ppo: most passes over a batch", 1)
    minibatch: int = setting(256, "ppo: decisions per gradient step", 1)
    clip: float = setting(0.2, "ppo: how far one update may move a probability ratio from 1", 0)
    target_kl: float = setting(
        0.02,
        "ppo: an update of 2,048 decisions moves the policy by this KL at most, one of fewer by less; 0 = no limit",
        0,
    )
    rho_max: float = setting(1.0, "V-trace: cap on the importance weight of old experience", 0)
    value_coefficient: float = setting(0.5, "weight of the value loss", 0)
    entropy_coefficient: float = setting(
        0.01,
        "most weight of the entropy gradient that keeps the policy trying things; falls with the learning rate",
        0,
    )
    probability_floor: float = setting(
        0.0, "an action less probable than this is not made less probable still by games that it did badly in", 0, 1
    )
    max_grad_norm: float = setting(0.5, "gradients longer than this are shortened to it; 0 = no limit", 0)
    normalize_states: bool = setting(True, "scale states by their running mean and spread")
    exploration: float = setting(0.05, "share of uniformly random decisions at the beginning", 0, 1)
    exploration_final: float = setting(0.0, "share of uniformly random decisions in the end", 0, 1)
    exploration_half_life: float = setting(100.0, "games learned from until that share is halfway to its end", 1e-6)
    commitment: float = setting(
        0.0,
        "share of an agent's games, at the beginning, that are trials: they keep to one action, drawn at random",
        0,
        1,
    )
    commitment_half_life: float = setting(100.0, "the share of trials halves after this many games learned from", 1e-6)
    commitment_stretch: float = setting(
        0.0,
        "a trial lasts for about this many decisions, at least half as many; 0 = for the whole game",
        0,
    )
    trial_weight: float = setting(
        0.0,
        "decisions of trials: 0 = corrected for the probability they were drawn with (V-trace), "
        "1 = learned from as if the policy had drawn them (biased)",
        0,
        1,
    )


@dataclass(frozen=True, slots=True)
class LearnerSettings(Section):
    """The background learner."""

    max_workers: int = setting(2, "most worker processes at a time (also NUM_INSTANCES)", 1)
    batch_games: int = setting(10, "most games in one batch, unless a backlog waits or min_batch_games is 0", 1)
    batch_decisions: int = setting(
        16_384,
        "when over four batches wait, batches grow with what comes, to this many decisions, newest first; 0 = never",
        0,
    )
    min_batch_games: int = setting(
        0,
        "wait for this many games before training; 0 = one at first, later up to 2,048 decisions; "
        "what waits is learned when the learner stops",
        0,
    )
    batch_growth: int = setting(
        0, "games learned from until batches wait for one game more, up to batch_games; 0 = they do not grow", 0
    )
    poll_seconds: float = setting(5.0, "look for new games at least this often, should file events be missed", 0.01)
    report_seconds: float = setting(30.0, "time between two status reports", 0.1)
    batch_seconds: float = setting(
        120.0, "end the training of a batch after this many seconds and publish what it has led to", 0.1
    )
    max_file_age: float = setting(
        0.0, "games that waited this many seconds for a running learner are archived unlearned; 0 = no limit", 0
    )
    min_sample_size: float = setting(
        0.05,
        "a batch over 100 versions behind, of which less than this share counts, is archived unlearned; 0 = no limit",
        0,
        1,
    )
    verbose: bool = setting(True, "print what is going on")


@dataclass(frozen=True, slots=True)
class StorageSettings(Section):
    """Bounds on what a run keeps on disk and reads into memory."""

    buffer_games: int = setting(100_000, "most games that wait; beyond it the oldest are archived unlearned", 1)
    buffer_bytes: int = setting(
        4_000_000_000, "most bytes of games that wait; beyond it the oldest are archived unlearned", 1024
    )
    archive_games: int = setting(10_000, "keep this many learned games", 0)
    archive_bytes: int = setting(2_000_000_000, "keep at most this many bytes of learned games", 0)
    ledger_games: int = setting(
        1_000_000, "the ledger keeps a row of this many games, about 500 bytes each; of older ones only sums", 1000
    )
    rejected_files: int = setting(1_000, "keep this many unusable files, with their reasons", 0)
    model_versions: int = setting(20, "keep this many earlier models to roll back to", 1)
    episode_bytes: int = setting(256_000_000, "refuse a game that needs more memory than this", 1024)
    episode_steps: int = setting(1_000_000, "refuse a game with more decisions than this", 1)
    compress: bool = setting(True, "compress games on disk (fast deflate)")


@dataclass(frozen=True, slots=True)
class ResourceSettings(Section):
    """When background work waits. Needs psutil (the extra `resources`); without it nothing is measured."""

    cpu_threshold: float = setting(
        80.0, "no new work while others use this much of the CPU (percent); 100 = never mind", 1, 100
    )
    memory_threshold: float = setting(
        85.0, "no new work while this much of the memory (percent) is used; 100 = never mind", 1, 100
    )
    gpu_memory_threshold: float = setting(
        90.0, "no new work while this much of a GPU's memory (percent) is used; 100 = never mind", 1, 100
    )
    step_budget: float = setting(
        0.04, "pause while a step of the game, as the bot reports it, takes longer than this many seconds; 0 = never", 0
    )
    training_patience: float = setting(
        10.0,
        "a batch waits for CPU and memory as long as the last one took, and at most this many seconds",
        0,
    )


@dataclass(frozen=True, slots=True)
class EvaluationSettings(Section):
    """Evaluation of published versions beside training: every version evaluated plays the same games."""

    function: str = setting("", "package.module:function that plays the games of a version; empty = no evaluation")
    games: int = setting(60, "games that an evaluated version plays", 1)
    games_per_job: int = setting(5, "games that a worker plays before others have their turn", 1)
    time_limit: float = setting(1800.0, "seconds that one job may take; beside a game it gets little of the CPU", 0.1)
    memory_limit: int = setting(2_000_000_000, "bytes of memory that one job may need", 10_000_000)


@dataclass(frozen=True, slots=True)
class ParallelSettings(Section):
    """Self-play, in this process or in workers."""

    enabled: bool = setting(False, "play in worker processes; false = the same workers, one after the other, in here")
    backend: Literal["local", "ray"] = setting(
        "local", "where workers live: processes of this machine, or actors of Ray (the extra `ray`)"
    )
    num_workers: int = setting(2, "how many workers play", 1)
    games_per_worker: int = setting(8, "matches that a worker plays at the same time", 1)
    batch_size: int = setting(1024, "decisions that a worker hands over at a time", 1)
    sync_interval: int = setting(100, "decisions learned from between two deliveries of weights to the workers", 1)
    max_staleness: int = setting(
        1, "batches that a worker may be ahead of the learner; 0 = synchronous, it waits for the newest weights", 0
    )
    max_queue_size: int = setting(2, "batches of a worker that may wait; a full queue makes the worker wait", 1)
    timeout_seconds: float = setting(10.0, "a worker that is silent for so long is replaced", 0.1)
    max_restarts: int = setting(5, "deaths of a worker in a row, without a batch, before play goes on in here", 0)
    worker_seed_offset: int = setting(1000, "distance between the seeds of two workers", 1)
    compression_enabled: bool = setting(False, "compress weights on their way to the workers (fast deflate); slower")
    checkpoint_updates: int = setting(50, "updates between two published versions", 1)
    learner_threads: int = setting(1, "threads of an update, with a network in torch; 0 = as many as cores", 0)


@dataclass(frozen=True, slots=True)
class DashboardSettings(Section):
    """The web dashboard. Without a token it answers this machine only."""

    host: str = setting("127.0.0.1", "address to listen on; one that other machines reach needs a token")
    port: int = setting(8642, "port to listen on; 0 = any that is free", 0, 65535)
    token: str = setting("", "secret of at least 16 characters that a visitor has to know; empty = none")
    names: str = setting("", "names, with commas between, by which browsers reach it besides its address")
    refresh_seconds: float = setting(2.0, "time between two looks at the run directories", 0.1)


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a run, by section."""

    network: NetworkSettings = field(default_factory=NetworkSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    learner: LearnerSettings = field(default_factory=LearnerSettings)
    storage: StorageSettings = field(default_factory=StorageSettings)
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    resources: ResourceSettings = field(default_factory=ResourceSettings)
    parallel: ParallelSettings = field(default_factory=ParallelSettings)
    dashboard: DashboardSettings = field(default_factory=DashboardSettings)
    games: Mapping[str, Any] = field(default_factory=dict)
    """Sections that games add, by name; `settings.NAME` gives one of them, with its defaults if it is not here."""

    def __getattr__(self, name: str) -> Any:
        if name in (added := _sections_of_games()):
            return self.games.get(name) or added[name]()
        raise AttributeError(f"There is no section {name!r} of settings.")


_CORE_SECTIONS: dict[str, type[Any]] = {
    f.name: f.type for f in dataclasses.fields(Settings) if isinstance(f.type, type) and issubclass(f.type, Section)
}
_NOT_THE_LEARNERS = ("network", "parallel", "dashboard")


def sections() -> dict[str, type[Any]]:
    """Every section of settings by its name: the core's, then those that games add."""
    return {**_CORE_SECTIONS, **_sections_of_games()}


def learner_sections() -> tuple[str, ...]:
    """The sections that a learner process needs."""
    return tuple(name for name in sections() if name not in _NOT_THE_LEARNERS)


def _sections_of_games() -> dict[str, type[Any]]:
    added = {name: kind for spec in registered_games().values() for name, kind in spec.sections.items()}
    return {name: kind for name, kind in added.items() if name not in _CORE_SECTIONS}


def _familiar_variables() -> dict[str, tuple[str, str]]:
    added = {name: place for spec in registered_games().values() for name, place in spec.variables.items()}
    return {**added, **FAMILIAR_VARIABLES}


def load_settings(
    file: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
    defaults: Mapping[str, Mapping[str, Any]] | None = None,
) -> Settings:
    """Fill the settings from a TOML file, then `UNDERSTUDY_…` variables, then flags; later ones win.

    `file=None` reads `understudy.toml` in the working directory if it is there. `flags` maps `section.name` to text.
    `defaults`, by section, take the place of the general ones.
    """
    given = given_settings(file, environment, flags)
    changed = defaults or {}
    made = {name: kind(**{**changed.get(name, {}), **given[name]}) for name, kind in sections().items()}
    core = {name: made.pop(name) for name in _CORE_SECTIONS}
    return Settings(**core, games={name: section for name, section in made.items() if section != type(section)()})


def given_settings(
    file: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
) -> dict[str, dict[str, Any]]:
    """Only what was really said, by section; the sources are those of `load_settings`."""
    values: dict[str, dict[str, Any]] = {section: {} for section in sections()}
    for section, key, value, where in _file_values(file):
        f = _find_field(section, key, where)
        values[section][f.name] = _convert(f, value, where)
    for section, key, text, where in (*_environment_values(environment), *_flag_values(flags or {})):
        f = _find_field(section, key, where)
        values[section][f.name] = _convert(f, _parse(f, text), where)
    return values


def section_from(section: str, values: Mapping[str, Any], where: str) -> Any:
    """Build one section from plain values, as a model file holds them; an unknown key is an error."""
    fields = {
        f.name: _convert(f, value, where)
        for f, value in ((_find_field(section, k, where), v) for k, v in values.items())
    }
    return sections()[section](**fields)


def as_flags(settings: Settings, names: Iterable[str]) -> list[str]:
    """The command-line flags that turn the defaults of these sections into these settings."""
    flags = []
    kinds = sections()
    for section in names:
        for f in dataclasses.fields(kinds[section]):
            value = getattr(getattr(settings, section), f.name)
            if value != f.default:
                text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
                flags += [f"--{section}.{f.name.replace('_', '-')}", text]
    return flags


def describe() -> Iterator[tuple[str, str, str, str]]:
    """Yield (section, name, default, meaning) of every setting, for help texts and the documentation."""
    for section, kind in sections().items():
        for f in dataclasses.fields(kind):
            yield section, f.name, json.dumps(f.default), f.metadata["doc"]


def _file_values(file: str | os.PathLike[str] | None) -> Iterator[tuple[str, str, Any, str]]:
    path = Path(FILE_NAME if file is None else file)
    if file is None and not path.exists():
        return
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"There is no settings file {path}.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"The settings file {path} cannot be read: {error}") from error
    for section, entries in document.items():
        _known(section, sections(), f"{path}", "section")
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
            yield _known(section, sections(), variable, "section"), key, text, variable


def _flag_values(flags: Mapping[str, str]) -> Iterator[tuple[str, str, str, str]]:
    for flag, text in flags.items():
        section, _, key = flag.partition(".")
        yield _known(section, sections(), f"--{flag}", "section"), key.replace("-", "_"), text, f"--{flag}"


def _find_field(section: str, key: str, where: str) -> dataclasses.Field[Any]:
    fields = {f.name: f for f in dataclasses.fields(sections()[section])}
    return fields[_known(key, fields, where, f"setting of [{section}]")]


def _known(name: str, names: Iterable[str], where: str, kind: str) -> str:
    names = list(names)
    if name not in names:
        nearest = difflib.get_close_matches(name, names, 1, 0.0)[0]
        raise SettingsError(f"{where}: {name!r} is no {kind}; the nearest known one is {nearest!r}.")
    return name


def _parse(f: dataclasses.Field[Any], text: str) -> Any:
    """Turn the text of a flag or variable into the plain value that a TOML file would have held."""
    if typing.get_origin(f.type) is tuple:
        return [_number(part) for part in text.replace("(", "").replace(")", "").split(",") if part.strip()]
    if f.type is bool:
        return {
            "1": True,
            "true": True,
            "yes": True,
            "on": True,
            "0": False,
            "false": False,
            "no": False,
            "off": False,
        }.get(text.strip().lower(), text)
    return _number(text) if f.type in (int, float) else text


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _convert(f: dataclasses.Field[Any], value: Any, where: str) -> Any:
    if typing.get_origin(f.type) is tuple and isinstance(value, list):
        value = tuple(value)
    elif f.type is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    _check(f, value, where)
    return value


def _check(f: dataclasses.Field[Any], value: Any, where: str) -> None:
    if typing.get_origin(f.type) is Literal:
        _known(value, typing.get_args(f.type), where, "choice")
        return
    if f.metadata["choices"] is not None:
        _known(value, f.metadata["choices"](), where, "choice")
    kind = int if typing.get_origin(f.type) is tuple else f.type
    members = value if isinstance(value, tuple) else (value,)
    if isinstance(value, tuple) != (typing.get_origin(f.type) is tuple) or not all(_is(kind, m) for m in members):
        wanted = "a list of whole numbers" if isinstance(f.default, tuple) else _KIND_NAMES[kind]
        raise SettingsError(f"{where} is {value!r}; it must be {wanted}, for instance {json.dumps(f.default)}.")
    low, high = f.metadata["at_least"], f.metadata["at_most"]
    for number in members:
        if (low is not None and not number >= low) or (high is not None and not number <= high):
            limits = " and ".join(
                f"at {word} {bound:g}" for word, bound in (("least", low), ("most", high)) if bound is not None
            )
            raise SettingsError(f"{where} is {number!r}; it must be {limits}.")


def _is(kind: Any, value: Any) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return type(value) is kind


_KIND_NAMES: dict[Any, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
