"""The search: trials on Ray Tune, on this machine or a cluster. The only module that imports Ray Tune."""

from __future__ import annotations

import functools
import math
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from understudy.errors import SettingsError, WorkersFailed
from understudy.tune.space import Range
from understudy.tune.trial import TrialPlan, train

os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
os.environ.setdefault("TUNE_DISABLE_SIGINT_HANDLER", "1")  # Ctrl-C ends the command, not only the search
try:
    import ray
    from ray import tune
    from ray.tune.schedulers import ASHAScheduler, PopulationBasedTraining

    from understudy.parallel.ray_cluster import join_cluster, reason
    from understudy.parallel.ray_files import find_modules_in, module_folders
except ImportError as error:
    raise SettingsError("`understudy tune` needs Ray Tune: pip install 'understudy[ray]'.") from error

Scheduler = Literal["asha", "pbt"]
_MODEL = "model.npz"
_RETRIES = 2  # of a trial whose node was lost; it continues from its last slice


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The result of a trial."""

    config: Mapping[str, Any]
    slices: int
    score: float
    model: bytes


@dataclass(frozen=True, slots=True)
class TuneResult:
    """The best trial, the trial with unchanged settings, and the number of failed trials."""

    best: TrialResult
    unchanged: TrialResult
    trials: int
    failed: int


def search(
    plan: TrialPlan,
    space: Sequence[Range],
    unchanged: Mapping[str, Any],
    *,
    scheduler: Scheduler,
    trials: int,
    storage: str,
    address: str,
    cpus: float,
    say: Callable[[str], None],
) -> TuneResult:
    """Run the trials, and one more with unchanged settings, which is never stopped early or replaced."""
    started = join_cluster(address)
    try:
        task = ray.remote(num_cpus=cpus, max_retries=_RETRIES)(_train_unchanged)
        folders = module_folders()
        reference = task.remote(plan, dict(unchanged), folders)
        trainable = tune.with_resources(tune.with_parameters(_trial, plan=plan, folders=folders), {"cpu": cpus})
        tuner = tune.Tuner(
            trainable,
            param_space={one.name: _domain(one) for one in space},
            tune_config=tune.TuneConfig(
                metric="score", mode="max", num_samples=trials, scheduler=_scheduler(scheduler, plan, space)
            ),
            run_config=tune.RunConfig(
                name="trials",
                storage_path=storage,
                verbose=0,
                failure_config=tune.FailureConfig(max_failures=_RETRIES),
                checkpoint_config=tune.CheckpointConfig(num_to_keep=2),
                callbacks=[_Progress(plan.slices, say)],
            ),
        )
        results = tuner.fit()
        found = [_trained(one) for one in results if one.checkpoint is not None and one.metrics]
        if not found:
            reasons = {reason(one.error) for one in results if one.error is not None}
            raise WorkersFailed(f"No trial has finished a slice: {'; '.join(sorted(reasons)) or 'no reason given'}.")
        best = max(found, key=lambda one: (one.slices, one.score))
        slices, score, model = ray.get(reference)
        return TuneResult(best, TrialResult(unchanged, slices, score, model), len(found), len(results.errors))
    except ray.exceptions.RayError as error:
        raise WorkersFailed(f"Ray failed: {reason(error)}.") from error
    finally:
        if started:
            ray.shutdown()


def _train_unchanged(plan: TrialPlan, config: dict[str, Any], folders: Sequence[str]) -> tuple[int, float, bytes]:
    find_modules_in(folders)
    *_, last = train(plan, config, plan.base, 0)
    return last


def _trial(config: dict[str, Any], plan: TrialPlan, folders: Sequence[str]) -> None:
    """The body of a trial's actor: continues from the given checkpoint, which may be another trial's."""
    find_modules_in(folders)
    begun, done = plan.base, 0
    checkpoint = tune.get_checkpoint()
    if checkpoint is not None:
        with checkpoint.as_directory() as folder:
            begun = Path(folder, _MODEL).read_bytes()
            done = int(Path(folder, "slices").read_text())
    for slices, score, model in train(plan, config, begun, done):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, _MODEL).write_bytes(model)
            Path(folder, "slices").write_text(str(slices))
            report = {"score": score, "slices": slices}
            tune.report(report, checkpoint=tune.Checkpoint.from_directory(folder))


def _trained(result: Any) -> TrialResult:
    with result.checkpoint.as_directory() as folder:
        model = Path(folder, _MODEL).read_bytes()
    return TrialResult(dict(result.config), int(result.metrics["slices"]), float(result.metrics["score"]), model)


def _domain(one: Range) -> Any:
    if one.whole:
        draw = tune.lograndint if one.log else tune.randint
        return draw(int(one.low), int(one.high) + 1)
    return (tune.loguniform if one.log else tune.uniform)(one.low, one.high)


def _scheduler(kind: Scheduler, plan: TrialPlan, space: Sequence[Range]) -> Any:
    if kind == "asha":
        return ASHAScheduler(time_attr="slices", max_t=plan.slices, grace_period=1, reduction_factor=3)
    every = max(plan.slices // 8, 1)
    return PopulationBasedTraining(
        time_attr="slices",
        perturbation_interval=every,
        hyperparam_mutations={one.name: _domain(one) for one in space},
        custom_explore_fn=functools.partial(_within, space),
    )


def _within(space: Sequence[Range], config: dict[str, Any]) -> dict[str, Any]:
    """Mutated values, clipped to their ranges."""
    return config | {one.name: one.within(config[one.name]) for one in space}


class _Progress(tune.Callback):  # type: ignore[misc]
    """Prints one line for each slice of a trial."""

    def __init__(self, slices: int, say: Callable[[str], None]) -> None:
        self._slices, self._say = slices, say
        self._best = -math.inf
        self._numbers: dict[str, int] = {}

    def on_trial_result(self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **_: Any) -> None:
        """Print the score of a trial."""
        number = self._numbers.setdefault(trial.trial_id, len(self._numbers) + 1)
        self._best = max(self._best, result["score"])
        values = ", ".join(f"{name} {value:.3g}" for name, value in trial.config.items())
        self._say(
            f"trial {number} of {len(trials)}, slice {result['slices']} of {self._slices}: score {result['score']:.4g} "
            f"(best {self._best:.4g}); {values}"
        )

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **_: Any) -> None:
        """Print that a trial has failed permanently."""
        number = self._numbers.setdefault(trial.trial_id, len(self._numbers) + 1)
        self._say(f"trial {number} has failed; the others continue")
