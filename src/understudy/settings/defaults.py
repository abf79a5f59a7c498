"""All settings by section, with their defaults: dataclasses, each field with its meaning and limits."""

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from understudy.games.spec import networks_of_games, registered_games
from understudy.settings.fields import Section, setting

# Limits against typing errors: a layer of width 65,536 after another one has 17 GB of weights.
_WIDEST, _DEEPEST = 65_536, 1_000


@dataclass(frozen=True, slots=True)
class NetworkSettings(Section):
    """The shape of the network. The bot that creates the model decides it; another shape needs another model."""

    policy: str = setting(
        "mlp",
        "the kind of network: mlp, conv, transformer, or one that a game adds (resnet, in torch)",
        choices=lambda: ("mlp", "conv", "transformer", *networks_of_games()),
    )
    hidden: tuple[int, ...] = setting((128, 64), "mlp, conv: width of each hidden layer", 1, _WIDEST)
    separate: bool = setting(False, "mlp: separate hidden layers for policy and value")
    image: tuple[int, ...] = setting((), "conv: height, width and channels of a state", 1)
    filters: tuple[int, ...] = setting((16,), "conv: number of filters of each convolution", 1, _WIDEST)
    kernels: tuple[int, ...] = setting((3,), "conv: width and height of the filters of each convolution, in pixels", 1)
    strides: tuple[int, ...] = setting((1,), "conv: stride of each convolution, in pixels", 1)
    context: int = setting(16, "transformer: number of last states that a layer attends to", 1, _WIDEST)
    width: int = setting(64, "transformer: width of a layer; a multiple of heads", 1, _WIDEST)
    heads: int = setting(4, "transformer: attention heads", 1, _WIDEST)
    layers: int = setting(2, "transformer: number of layers", 1, _DEEPEST)
    blocks: int = setting(9, "resnet: residual blocks", 0, _DEEPEST)
    channels: int = setting(256, "resnet: width of the tower", 1, _WIDEST)
    se_ratio: float = setting(
        0.25, "resnet: width of the squeeze-and-excitation layers as a share of the channels; 0 = none", 0, 1
    )
    policy_head: Literal["attention", "linear"] = setting(
        "attention", "resnet: attention between from and to squares, or a linear layer"
    )
    attention_width: int = setting(32, "resnet: length of the attention head's queries and keys", 1, _WIDEST)
    value_width: int = setting(64, "resnet: width of the value head's hidden layer", 1, _WIDEST)
    backend: Literal["auto", "torch", "compiled"] = setting(
        "auto",
        "resnet: what computes its convolutions. torch, or compiled code, which needs numba; auto: compiled if numba "
        "is installed. Not part of the model: it may change at any time",
    )


@dataclass(frozen=True, slots=True)
class TrainingSettings(Section):
    """How the model learns. Stored in the model file, so that bot and learner share them; either may change it."""

    algorithm: Literal["ppo", "reinforce"] = setting(
        "ppo", "ppo corrects for experience from an older policy; reinforce does not"
    )
    learning_rate: float = setting(
        6e-4, "highest learning rate of Adam; it adjusts itself between 0.03 times this and this", 0, sane=10
    )
    learning_rate_half_life: float = setting(
        0.0, "the learning rate halves after this many games; it never falls below a tenth; 0 = no decay", 0
    )
    gamma: float = setting(0.99, "discount factor per decision", 0, 1)
    gae_lambda: float = setting(
        0.97, "lambda of GAE and V-trace: 1 = observed rewards only, 0 = value estimates only", 0, 1
    )
    epochs: int = setting(10, "ppo: maximum number of passes over a batch", 1)
    minibatch: int = setting(256, "ppo: decisions per gradient step", 1)
    clip: float = setting(0.2, "ppo: how far one update may move a probability ratio from 1", 0)
    target_kl: float = setting(
        0.02,
        "ppo: maximum KL divergence of an update of 2,048 decisions, less for fewer decisions; 0 = no limit",
        0,
    )
    rho_max: float = setting(2.0, "V-trace: cap on the importance weight of old experience", 0)
    value_coefficient: float = setting(0.5, "weight of the value loss", 0)
    entropy_coefficient: float = setting(
        0.01,
        "maximum weight of the entropy bonus, which keeps the policy exploring; falls with the learning rate",
        0,
    )
    probability_floor: float = setting(
        0.0, "bad results do not lower the probability of an action further once it is below this", 0, 1
    )
    max_grad_norm: float = setting(0.5, "clip the global norm of gradients to this; 0 = no limit", 0)
    normalize_states: bool = setting(True, "normalise states by their running mean and standard deviation")
    exploration: float = setting(0.05, "initial share of uniformly random decisions", 0, 1)
    exploration_final: float = setting(0.0, "final share of uniformly random decisions", 0, 1)
    exploration_half_life: float = setting(
        100.0, "after this many games the share is halfway between initial and final", 1e-6
    )
    commitment: float = setting(
        0.0,
        "initial share of an agent's games that are trials: games that keep to one action, drawn at random",
        0,
        1,
    )
    commitment_half_life: float = setting(100.0, "the share of trials halves after this many games", 1e-6)
    commitment_stretch: float = setting(
        0.0,
        "a trial lasts about this many decisions, at least half of that; 0 = the whole game",
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

    max_workers: int = setting(2, "maximum number of worker processes (also NUM_INSTANCES)", 1)
    batch_games: int = setting(10, "maximum games in a batch, unless there is a backlog or min_batch_games is 0", 1)
    batch_decisions: int = setting(
        16_384,
        "when more than four batches wait, batches grow up to this many decisions, newest games first; 0 = never",
        0,
    )
    min_batch_games: int = setting(
        0,
        "minimum games before training; 0 = one game at first, later up to 2,048 decisions; "
        "waiting games are learned when the learner stops",
        0,
    )
    batch_growth: int = setting(
        0, "min_batch_games grows by one after this many games, up to batch_games; 0 = it does not grow", 0
    )
    poll_seconds: float = setting(
        5.0, "maximum time between two looks for new games, in case file events are missed", 0.01
    )
    report_seconds: float = setting(30.0, "seconds between two status reports", 0.1)
    batch_seconds: float = setting(
        120.0, "maximum training time of a batch in seconds; the result so far is published", 0.1
    )
    max_file_age: float = setting(
        0.0, "archive games without learning if they waited this many seconds for a running learner; 0 = no limit", 0
    )
    min_sample_size: float = setting(
        0.05,
        "archive a batch without learning if it is over 100 versions old and its effective sample size is below this; "
        "0 = no limit",
        0,
        1,
    )
    replay_share: float = setting(
        0.0, "decisions of earlier games that are learned from again, as a share of the new ones; 0 = no replay", 0, 8
    )
    replay_games: int = setting(1_000, "maximum number of games that can be replayed: the newest ones", 0)
    replay_bytes: int = setting(200_000_000, "maximum bytes of memory for games that can be replayed", 0)
    replay_versions: int = setting(100, "games are replayed for at most this many versions", 0)
    verbose: bool = setting(True, "print progress")


@dataclass(frozen=True, slots=True)
class StorageSettings(Section):
    """Limits on what a run keeps on disk and reads into memory."""

    buffer_games: int = setting(100_000, "maximum waiting games; beyond it the oldest are archived without learning", 1)
    buffer_bytes: int = setting(
        4_000_000_000, "maximum bytes of waiting games; beyond it the oldest are archived without learning", 1024
    )
    archive_games: int = setting(10_000, "maximum games in the archive", 0)
    archive_bytes: int = setting(2_000_000_000, "maximum bytes of the archive", 0)
    ledger_games: int = setting(
        1_000_000,
        "maximum games with a row in the ledger, about 500 bytes each; older ones are kept as sums only",
        1000,
    )
    rejected_files: int = setting(1_000, "maximum number of rejected files to keep, each with its reason", 0)
    model_versions: int = setting(20, "number of earlier versions to keep for rollback", 1)
    episode_bytes: int = setting(256_000_000, "reject a game that needs more memory than this many bytes", 1024)
    episode_steps: int = setting(1_000_000, "reject a game with more decisions than this", 1)
    compress: bool = setting(True, "compress games on disk (fast deflate)")


@dataclass(frozen=True, slots=True)
class ResourceSettings(Section):
    """When background work waits for the machine. Needs psutil (extra `resources`); otherwise nothing is measured."""

    cpu_threshold: float = setting(
        80.0, "start no work while other programs use more than this share of the CPU, in percent; 100 = ignore", 1, 100
    )
    memory_threshold: float = setting(
        85.0, "start no work while more than this share of the memory is used, in percent; 100 = ignore", 1, 100
    )
    gpu_memory_threshold: float = setting(
        90.0, "start no work while more than this share of a GPU's memory is used, in percent; 100 = ignore", 1, 100
    )
    step_budget: float = setting(
        0.04, "pause while the bot reports game steps longer than this many seconds; 0 = never", 0
    )
    training_patience: float = setting(
        10.0,
        "a batch waits for CPU and memory at most as long as the last batch took, and at most this many seconds",
        0,
    )


@dataclass(frozen=True, slots=True)
class EvaluationSettings(Section):
    """Evaluation of published versions during training. All versions play the same games."""

    function: str = setting(
        "", "evaluator, package.module:function; empty = none beside a live bot, that of the game in self-play"
    )
    games: int = setting(60, "evaluation games per version", 1)
    games_per_job: int = setting(5, "evaluation games per job", 1)
    share: float = setting(
        0.1,
        "share of a core that evaluation beside a live bot gets even when the CPU is busy, in a separate process; "
        "0 = it waits like other work",
        0,
        0.5,
    )
    time_limit: float = setting(1800.0, "time limit of a job in seconds; beside a live game it gets little CPU", 0.1)
    memory_limit: int = setting(2_000_000_000, "memory limit of a job in bytes", 10_000_000)


@dataclass(frozen=True, slots=True)
class GateSettings(Section):
    """Which version plays: only a better one goes on stage. docs/gate.md explains the modes."""

    mode: Literal["off", "guard", "strict"] = setting(
        "guard",
        "off: the newest version plays; guard: it plays until it is shown to be worse than the champion; "
        "strict: a version plays only after it was shown to be better",
    )
    error: float = setting(
        0.05, "probability of a wrong decision in the whole run, however often it is checked", 1e-6, 0.2
    )
    control_share: float = setting(
        0.2, "guard: share of the games that the champion plays, so that both are compared at the same time", 0.01, 0.5
    )
    challenger_share: float = setting(
        0.25, "strict: share of the games that a candidate plays while it is compared with the champion", 0.01, 0.5
    )
    margin: float = setting(
        0.1,
        "guard: a line that is shown not to be worse by more than this, in points per game, can become champion",
        0.001,
        0.9,
    )
    candidate_games: int = setting(20, "games learned from before the line is compared again as a new candidate", 1)


@dataclass(frozen=True, slots=True)
class ParallelSettings(Section):
    """Self-play, in this process or in worker processes."""

    enabled: bool = setting(
        False, "play in worker processes; false = the same workers one after the other in this process"
    )
    backend: Literal["local", "ray"] = setting(
        "local", "where workers run: processes of this machine, or Ray actors (extra `ray`)"
    )
    num_workers: int = setting(
        2, '"auto" (or 0): one worker per core of this machine, or per free CPU of the Ray cluster', 0, auto=0
    )
    address: str = setting(
        "", "Ray cluster to join: auto, HOST:PORT or ray://HOST:PORT; empty = start Ray on this machine"
    )
    worker_cpus: float = setting(1.0, "CPUs that Ray reserves for each worker", 0.001)
    worker_resource: str = setting(
        "", "custom Ray resource: workers run only on nodes that have it, and each takes 1 of it"
    )
    games_per_worker: int = setting(8, "matches that a worker plays at once", 1)
    league_share: float = setting(
        0.0,
        "share of a worker's matches in which a past version plays the other side, for games of two players; versions "
        "with even results are drawn most",
        0,
        0.9,
    )
    batch_size: int = setting(1024, "decisions per rollout of a worker", 1)
    sync_interval: int = setting(100, "decisions learned between two deliveries of weights to the workers", 1)
    max_staleness: int = setting(
        1, "rollouts that a worker may be ahead of the learner; 0 = synchronous: it waits for the newest weights", 0
    )
    max_queue_size: int = setting(2, "maximum waiting rollouts per worker; a full queue makes the worker wait", 1)
    timeout_seconds: float = setting(10.0, "replace a worker after this many seconds without a heartbeat", 0.1)
    max_restarts: int = setting(
        5, "after this many deaths of a worker without a rollout, play continues in this process", 0
    )
    worker_seed_offset: int = setting(1000, "difference between the seeds of two workers", 1)
    compression_enabled: bool = setting(False, "compress weights sent to the workers (fast deflate); slower")
    checkpoint_updates: int = setting(50, "updates between two published versions", 1)
    learner_threads: int = setting(1, "threads per update of a torch network; 0 = one per core", 0)

    @property
    def workers(self) -> int:
        """The number of workers on this machine."""
        return self.num_workers or os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class RemoteSettings(Section):
    """Several machines that share a bucket. Credentials come from the environment; they are never settings."""

    role: Literal["auto", "player", "learner"] = setting(
        "auto",
        "player: sends its games; learner: downloads games and sends what it learns; "
        "auto: learner while a learner works on this run, else player",
    )
    poll_seconds: float = setting(5.0, "seconds between two looks at the bucket", 0.01)
    lease_seconds: float = setting(
        300.0, "a machine without a heartbeat for this many seconds loses the games it has claimed", 0.1
    )
    claim_games: int = setting(16, "maximum games that a learner claims with one request", 1, 1000)
    ahead_games: int = setting(64, "maximum claimed games that wait for the learner; others may claim the rest", 1)
    push_seconds: float = setting(10.0, "minimum seconds between two uploads of the model", 0)
    upload_rate: float = setting(0.0, "maximum bytes per second to the bucket; 0 = no limit", 0)
    download_rate: float = setting(0.0, "maximum bytes per second from the bucket; 0 = no limit", 0)
    outbox_bytes: int = setting(
        1_000_000_000,
        "maximum bytes of games that wait for the bucket; beyond it the oldest are archived without being sent",
        1024,
    )
    free_bytes: int = setting(500_000_000, "games are not downloaded while the disk has less free space than this", 0)


@dataclass(frozen=True, slots=True)
class DashboardSettings(Section):
    """The web dashboard. Without a token it only accepts connections from this machine."""

    host: str = setting("127.0.0.1", "address to listen on; an address that other machines can reach needs a token")
    port: int = setting(8642, "port to listen on; 0 = any free port", 0, 65535)
    token: str = setting("", "secret of at least 16 characters that visitors must give; empty = none")
    names: str = setting("", "additional host names, separated by commas, under which browsers reach it")
    refresh_seconds: float = setting(2.0, "seconds between two readings of the run directories", 0.1)


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a run, by section."""

    network: NetworkSettings = field(default_factory=NetworkSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    learner: LearnerSettings = field(default_factory=LearnerSettings)
    storage: StorageSettings = field(default_factory=StorageSettings)
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    gate: GateSettings = field(default_factory=GateSettings)
    resources: ResourceSettings = field(default_factory=ResourceSettings)
    parallel: ParallelSettings = field(default_factory=ParallelSettings)
    remote: RemoteSettings = field(default_factory=RemoteSettings)
    dashboard: DashboardSettings = field(default_factory=DashboardSettings)
    games: Mapping[str, Any] = field(default_factory=dict)
    """Sections that games add, by name; `settings.NAME` returns one of them, with its defaults if it is not here."""

    def __getattr__(self, name: str) -> Any:
        if name in (added := _sections_of_games()):
            return self.games.get(name) or added[name]()
        raise AttributeError(f"There is no section {name!r} of settings.")


CORE_SECTIONS: dict[str, type[Any]] = {
    f.name: f.type for f in dataclasses.fields(Settings) if isinstance(f.type, type) and issubclass(f.type, Section)
}
_NOT_THE_LEARNERS = ("network", "parallel", "remote", "dashboard")


def sections() -> dict[str, type[Any]]:
    """Every section of settings by its name: the core's, then those that games add."""
    return {**CORE_SECTIONS, **_sections_of_games()}


def learner_sections() -> tuple[str, ...]:
    """The sections that a learner process needs."""
    return tuple(name for name in sections() if name not in _NOT_THE_LEARNERS)


def game_sections() -> tuple[str, ...]:
    """The sections that games add."""
    return tuple(_sections_of_games())


def _sections_of_games() -> dict[str, type[Any]]:
    added = {name: kind for spec in registered_games().values() for name, kind in spec.sections.items()}
    return {name: kind for name, kind in added.items() if name not in CORE_SECTIONS}
