"""Tuning a run: the start of the trials, and the use of the best one."""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
from pathlib import Path
from typing import Any

from understudy.check.evaluation import game_of
from understudy.errors import ModelMissing, SettingsError
from understudy.files.atomic import write_atomically
from understudy.flags import flags
from understudy.games.game import default_settings
from understudy.models.gate import Gate
from understudy.models.state import ModelState, read_model, to_bytes
from understudy.models.store import ModelStore
from understudy.parallel.first_model import open_start
from understudy.run.lock import StopRequest, hold_run
from understudy.run.log import show
from understudy.rundir import RunDir
from understudy.settings import Settings, given_settings, load_settings
from understudy.tune.judge import Referee, judge
from understudy.tune.search import search
from understudy.tune.space import as_toml, config_of, space_of
from understudy.tune.trial import TrialPlan

_FOLDER = "tune"
TUNED = "tuned.toml"


def tune(options: argparse.Namespace) -> int:
    """Search, compare and publish."""
    place = RunDir.at(options.run_dir)
    space = space_of(options.over)
    game = _game(options, place)
    place.create()
    settings = load_settings(options.settings, flags=flags(options), defaults=default_settings(game))
    given = given_settings(options.settings, flags=flags(options))
    store = ModelStore(place.model, place.ledger)
    with hold_run(place, StopRequest(), wait=False):
        base = store.recover() or store.create(open_start(game, settings, given, None, options.seed).model.base)
        start = dataclasses.replace(base, training=dataclasses.replace(base.training, **given["training"]))
        settings = dataclasses.replace(settings, training=start.training, network=base.spec.network)
        plan = TrialPlan(
            game, settings, to_bytes(start), options.slices, options.decisions, options.games, options.seed
        )
        _say(
            f"{options.trials} trials of {game}, {options.slices} slices of {options.decisions:,} decisions each, "
            f"from version {base.version}; one more with unchanged settings. Ctrl-C stops it."
        )
        found = search(
            plan,
            space,
            config_of(start.training, space),
            scheduler=options.scheduler,
            trials=options.trials,
            storage=options.storage or str(place.root / _FOLDER),
            address=options.address,
            cpus=settings.parallel.worker_cpus,
            say=_say,
        )
        failed = f", {found.failed} failed" if found.failed else ""
        _say(
            f"{found.trials} trials{failed}. Best score {found.best.score:.4g}; "
            f"with unchanged settings {found.unchanged.score:.4g}."
        )
        _decide(place, store, base, plan, found, options.judge_games, settings)
    return 0


def _game(options: argparse.Namespace, place: RunDir) -> str:
    if options.game is not None and options.env is not None:
        raise SettingsError("Name a game with --game, or a Gymnasium environment with --env, not both.")
    if options.game or options.env:
        return str(options.game or f"gym:{options.env}")
    if not place.model.exists():
        raise ModelMissing(f"There is no model at {place.model}: name the game with --game NAME or --env ID.")
    return game_of(place, read_model(place.model))


def _decide(
    place: RunDir, store: ModelStore, base: ModelState, plan: TrialPlan, found: Any, most: int, settings: Settings
) -> None:
    """Compare on games that did not select a trial; publish what is shown to be better than the run's model."""
    referee, error = Referee(plan.game), settings.gate.error
    with tempfile.TemporaryDirectory(prefix="understudy-tune-") as folder:
        models = {"best": found.best.model, "unchanged": found.unchanged.model, "base": plan.base}
        paths = {name: Path(folder, f"{name}.npz") for name in models}
        for name, content in models.items():
            paths[name].write_bytes(content)

        def compared(name: str, other: str, first: int) -> Any:
            return judge(
                referee,
                paths[name],
                paths[other],
                first=first,
                most=most,
                error=error,
                say=lambda text: _say(f"judge: {text}"),
            )

        verdict = compared("best", "unchanged", plan.games)
        _say(f"The settings of the best trial are {verdict}.")
        winner = "best" if verdict.better else "unchanged"
        if verdict.better:
            text = as_toml(found.best.config)
            write_atomically(place.root / TUNED, lambda stream: stream.write(text.encode()))
            _say(f"They are in {place.root / TUNED}; use them with --settings {place.root / TUNED}.")
        verdict = compared(winner, "base", plan.games + most)
        name = "best trial" if winner == "best" else "trial with unchanged settings"
        _say(f"The model of the {name} is {verdict}, compared with version {base.version}.")
        if verdict.better:
            _publish(place, store, base, read_model(paths[winner]), plan, str(verdict))
        else:
            _say("Nothing is published.")


def _publish(
    place: RunDir, store: ModelStore, base: ModelState, model: ModelState, plan: TrialPlan, words: str
) -> None:
    head = store.publish(model, base, publisher="tune", stats={"game": plan.game, "tuned": words})
    _say(f"It is published as version {head.version}.")
    gate = Gate(place.ledger, store)
    state = gate.look()
    if state is not None and state.settings.mode != "off":
        gate.promote(head.version, f"understudy tune, which found it {words}")
        _say(f"Version {head.version} is champion.")


def _say(text: str) -> None:
    show(f"[TUNE] {text}")
