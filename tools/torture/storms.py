"""Kill anything at any moment: nothing is lost, nothing is learned twice, no update overwrites another."""

from __future__ import annotations

import dataclasses
import random
import time
from pathlib import Path

import numpy as np
from tools.torture.checks import Report, check_processes, check_run, settle
from tools.torture.child import N_ACTIONS, STATE_DIM
from tools.torture.processes import CHILD, Process, end_all, storm, wait_until

from understudy.ledger.connection import Ledger
from understudy.models.live import Interface, new_model
from understudy.models.state import read_model
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import NetworkSettings, TrainingSettings


def bots(run: RunDir, folder: Path, count: int, *, online: bool = False) -> tuple[list[Process], list[Path]]:
    """Bots that play without end, and the notebooks that they keep."""
    mode = "online" if online else "offline"
    notebooks = [folder / f"{mode}-{index}.notes" for index in range(count)]
    role = [str(CHILD), "bot", str(run.root)]
    return [
        Process(notebook.stem, folder, [*role, str(notebook), mode, str(folder / "pause")]) for notebook in notebooks
    ], notebooks


def learner(run: RunDir, folder: Path, *flags: str) -> Process:
    """A learner that works until it is killed."""
    return Process("learner", folder, ["-m", "understudy", "learn", str(run.root), "--wait", *flags])


def kill_anything(
    report: Report, folder: Path, rng: random.Random, kills: int, count: int, deadline: float, *, online: bool
) -> None:
    """Bots and a learner die and come back; readers must never see a model that is broken, or older than the last."""
    run = RunDir.at(folder / "run")
    players, notebooks = bots(run, folder, count, online=online)
    one_learner = learner(run, folder)
    watching = [folder / f"reader-{index}.notes" for index in range(2)]
    readers = [Process(path.stem, folder, [str(CHILD), "reader", str(run.model), str(path)]) for path in watching]
    try:
        players[0].start()
        report.check("the first bot makes a model", wait_until(run.model.exists, 60))
        for reader in readers:
            reader.start()
        folders = [
            run.models,
            run.models / "versions",
            run.buffer,
            run.live,
            run.archive,
            run.ledger.with_name(f"{run.ledger.name}-wal"),
        ]
        # A bot lives longer than the learner, in proportion to their numbers: each kind gets half of the kills.
        storm([*players, one_learner], kills, rng, folders, deadline, lambda p: 1.0 if p is one_learner else count)
        alive = [reader.running for reader in readers]
        codes = [reader.stop() for reader in readers]
    finally:
        end_all([*players, one_learner, *readers])
    killed = sum(player.kills for player in players)
    found = f"{killed} of bots, {one_learner.kills} of the learner"
    report.check(f"at least {kills} kills", killed + one_learner.kills >= kills, found)
    told = [line for path in watching if path.exists() for line in path.read_text().splitlines()]
    report.check("readers never met a model they could not load", all(alive) and codes == [0] * len(readers), codes)
    report.equal("times a reader saw an older version", sum(line.startswith("backwards") for line in told), 0)
    report.fact("models loaded by readers", sum(int(line.split()[1]) for line in told if line.startswith("loads")))
    check_processes(report, [*players, one_learner, *readers])
    settle(report, run, folder)
    check_run(report, run, folder, notebooks, {"learned", "online"} if online else {"learned"})


def no_lost_update(report: Report, folder: Path, rng: random.Random, kills: int, deadline: float) -> None:
    """Each publisher adds 1 to its own number; at the end each number is what the ledger says was published."""
    run = RunDir.at(folder / "run")
    run.create()
    store = ModelStore(run.model, run.ledger)
    actions = tuple(f"action {i}" for i in range(N_ACTIONS))
    model = new_model(Interface(STATE_DIM, actions), NetworkSettings(hidden=(16,)), TrainingSettings(), seed=0)
    zeros = {name: np.zeros_like(array) for name, array in model.arrays.items()}
    store.create(dataclasses.replace(model, arrays=zeros))
    role = [str(CHILD), "publisher", str(run.root)]
    publishers = [Process(f"p{slot}", folder, [*role, str(slot)]) for slot in range(4)]
    try:
        storm(publishers, kills, rng, [run.models, run.models / "versions"], deadline)
        for publisher in publishers:
            if not publisher.running:
                publisher.start()
        _wait_for_each(run, {publisher.name for publisher in publishers})
    finally:
        end_all(publishers)
    killed = sum(publisher.kills for publisher in publishers)
    report.check(f"at least {kills} kills", killed >= kills, killed)
    check_processes(report, publishers)
    store.recover()
    final = read_model(run.model)
    with Ledger(run.ledger) as ledger:
        published = [version.publisher for version in ledger.versions()]
        report.equal("model's version = head of the ledger", final.version, ledger.head())
    report.fact("versions published under kills", len(published))
    wanted = [float(published.count(publisher.name)) for publisher in publishers]
    report.equal("every update is in the weights, once", final.arrays["parameters"][: len(wanted)].tolist(), wanted)
    report.check("no update is in a weight of nobody", not final.arrays["parameters"][len(wanted) :].any())
    report.check("all of them published", min(wanted) > 0, wanted)


def _wait_for_each(run: RunDir, publishers: set[str]) -> None:
    """On a busy machine kills may come faster than a process gets to publish; each has its turn after the storm."""
    patience = time.monotonic() + 60
    with Ledger(run.ledger) as ledger:
        while time.monotonic() < patience and publishers - {version.publisher for version in ledger.versions()}:
            time.sleep(0.1)
