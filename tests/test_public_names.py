from __future__ import annotations

import subprocess
import sys

import understudy

NAMES = {
    "ActorCriticResTower",
    "BackgroundParallelLearner",
    "Decision",
    "Episode",
    "EpisodeMeta",
    "ModelStore",
    "ModelSynchronizer",
    "ParallelManager",
    "PolicyOutputMapper",
    "RLAgent",
    "Settings",
    "TrainingLoopManager",
    "TransformerDecisionModel",
    "UnderstudyError",
    "WickedZergBotProImpl",
    "WorkerCommunicator",
    "load_settings",
    "model_factory",
    "read_episode",
    "write_episode",
}

LADDER_CORE = (
    "understudy.agent",
    "understudy.experience.archive",
    "understudy.experience.episode",
    "understudy.experience.journal",
    "understudy.experience.spool",
    "understudy.learning.losses",
    "understudy.learning.returns",
    "understudy.learning.trainer",
    "understudy.models.live",
    "understudy.models.store",
    "understudy.networks.mlp",
    "understudy.networks.transformer",
)


def test_the_public_names_are_these() -> None:
    assert set(understudy.__all__) == NAMES
    assert set(dir(understudy)) == NAMES
    for name in NAMES:
        assert getattr(understudy, name).__name__ == name


def test_importing_the_package_loads_no_numpy() -> None:
    code = "import sys, understudy, understudy.cli; print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_the_part_that_travels_in_a_bot_needs_numpy_and_nothing_else() -> None:
    code = (
        "import sys, importlib\n"
        "before = set(sys.modules)\n"  # a sitecustomize, for example, which Debian has
        f"for name in {LADDER_CORE!r}: importlib.import_module(name)\n"
        "roots = {name.partition('.')[0] for name in sys.modules.keys() - before}\n"
        "print(sorted(r for r in roots - sys.stdlib_module_names if not r.startswith('_')))\n"
    )
    shown = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "['numpy', 'understudy']\n"
