"""The Zerg bot as a game of Understudy."""

from __future__ import annotations

from understudy.games.spec import BackgroundWork, GameSpec, Page, ResultAxis
from understudy.games.zerg.replays.settings import ReplaySettings

SPEC = GameSpec(
    name="zerg",
    title="StarCraft II, Zerg",
    matches="understudy.games.zerg.direct.selfplay:ZergMatches",
    sections={"replays": ReplaySettings},
    variables={"REPLAY_ARCHIVE_DIR": ("replays", "directory")},
    features="understudy.games.zerg.state:NAMES",
    evaluator="understudy.games.zerg.direct.evaluation:evaluate",
    axes=(ResultAxis("opponent_race", "Opponent race"), ResultAxis("difficulty", "Difficulty")),
    work=(
        BackgroundWork(
            name="replays",
            title="Replay Analysis",
            help="also analyse the replays in replays.directory",
            start="understudy.games.zerg.replays.jobs:start",
            check="understudy.games.zerg.replays.jobs:require_reader",
            figures={
                "done": ("replays_analyzed", "Replays Analyzed"),
                "set_aside": ("replays_rejected", "Replays Rejected"),
            },
            waiting="Replays Waiting",
            summary="understudy.games.zerg.replays.ledger:summary",
        ),
    ),
    commands="understudy.games.zerg.commands:add_commands",
    programs={
        "proving-ground": (
            "understudy.games.zerg.proving_ground.__main__:main",
            "StarCraft II's API without StarCraft II: play, serve, install, watch and more",
        )
    },
    check="zerg-check",
    pages=(
        Page(
            "replays",
            "Replays",
            "understudy.games.zerg.pages.replays:show",
            "understudy.games.zerg.pages.replays:wanted",
        ),
    ),
    metrics="understudy.games.zerg.pages.metrics:METRICS",
)
