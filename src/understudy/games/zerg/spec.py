"""The Zerg bot as a game of Understudy."""

from __future__ import annotations

from understudy.games.spec import BackgroundWork, Contestants, GameSpec, LadderPackage, Page, ResultAxis
from understudy.games.zerg.own_bot.settings import LadderSettings, PackageSettings
from understudy.games.zerg.replays.settings import ReplaySettings

# What the bot needs to play and to learn on a ladder: no simulation, no replay parser, no commands.
_ON_THE_LADDER = (
    "__init__",
    "army",
    "bot",
    "bot_adapter",
    "brain",
    "catalogue",
    "defaults",
    "ladder",
    "learned_openings",
    "macro",
    "enemy_memory",
    "opponent_memory",
    "placement",
    "queens",
    "rewards",
    "snapshot",
    "starcraft",
    "state",
    "strategies",
    "workers",
)

# The part of `understudy.sc2` that a bot needs.
SC2_ON_THE_LADDER = tuple(
    f"sc2/{name}.py"
    for name in (
        *("__init__", "bot", "build_orders", "errors", "ladder", "openings", "opponents", "races", "session"),
        *("shaping", "step_clock"),
    )
)
LEARNED = ("opponents.json", "learned_build_orders.json")
"""Files of a run directory that belong in the zip."""

SPEC = GameSpec(
    name="zerg",
    title="StarCraft II, Zerg",
    matches="understudy.games.zerg.direct.selfplay:ZergMatches",
    sections={"replays": ReplaySettings, "package": PackageSettings, "ladder": LadderSettings},
    variables={"REPLAY_ARCHIVE_DIR": ("replays", "directory")},
    features="understudy.games.zerg.state:NAMES",
    evaluator="understudy.games.zerg.direct.evaluation:evaluate",
    contestants=Contestants(
        names="the built-in difficulties, VeryEasy to CheatInsane",
        known="understudy.games.zerg.direct.difficulties:known",
        play="understudy.games.zerg.direct.difficulties:play",
    ),
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
            "play, serve and watch games without StarCraft II",
        )
    },
    check="zerg-check",
    pages=(
        Page(
            "battles",
            "Watch",
            "understudy.games.zerg.pages.battles:show",
            "understudy.games.zerg.pages.battles:wanted",
            plays=".jsonl",
        ),
        Page(
            "replays",
            "Replays",
            "understudy.games.zerg.pages.replays:show",
            "understudy.games.zerg.pages.replays:wanted",
        ),
    ),
    metrics="understudy.games.zerg.pages.metrics:METRICS",
    counts=("opponents.json",),
    package=LadderPackage(
        start="understudy.games.zerg.ladder:main",
        modules=(*SC2_ON_THE_LADDER, *(f"games/zerg/{name}.py" for name in _ON_THE_LADDER)),
        learned=LEARNED,
    ),
)
