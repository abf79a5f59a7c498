"""All settings. They come from a TOML file, environment variables and flags; later ones override earlier ones.

[training]                        # understudy.toml
learning_rate = 3e-4

UNDERSTUDY_TRAINING_LEARNING_RATE=3e-4
understudy learn RUN_DIR --training.learning-rate 3e-4
"""

from understudy.settings.defaults import (
    DashboardSettings,
    EvaluationSettings,
    GateSettings,
    LearnerSettings,
    NetworkSettings,
    ParallelSettings,
    RemoteSettings,
    ResourceSettings,
    Settings,
    StorageSettings,
    TrainingSettings,
    game_sections,
    learner_sections,
    sections,
)
from understudy.settings.fields import Section, setting
from understudy.settings.loading import as_flags, describe, given_settings, load_settings, section_from

__all__ = [
    "DashboardSettings",
    "EvaluationSettings",
    "GateSettings",
    "LearnerSettings",
    "NetworkSettings",
    "ParallelSettings",
    "RemoteSettings",
    "ResourceSettings",
    "Section",
    "Settings",
    "StorageSettings",
    "TrainingSettings",
    "as_flags",
    "describe",
    "game_sections",
    "given_settings",
    "learner_sections",
    "load_settings",
    "section_from",
    "sections",
    "setting",
]
