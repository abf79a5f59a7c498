"""Shogi as a game of Understudy."""

from __future__ import annotations

from understudy.games.spec import Contestants, GameSpec, Page, ResultAxis

SPEC = GameSpec(
    name="shogi",
    title="Shogi",
    matches="understudy.games.shogi.league:ShogiLeague",
    evaluator="understudy.games.shogi.fixed_opponents:evaluate",
    axes=(ResultAxis("opponent", "Opponent"), ResultAxis("colour", "Colour")),
    contestants=Contestants(
        names="greedy, fairy-stockfish or gnushogi if installed, usi:COMMAND; engines also with a level, as in "
        "`gnushogi@depth 1`",
        known="understudy.games.shogi.arena_players:known",
        seat="understudy.games.shogi.arena_players:seat",
        matches="understudy.games.shogi.arena_players:matches",
    ),
    commands="understudy.games.shogi.commands:add_commands",
    check="shogi-check",
    pages=(
        Page(
            "shogi",
            "Shogi",
            "understudy.games.shogi.pages.viewer:show",
            "understudy.games.shogi.pages.files:wanted",
        ),
    ),
    metrics="understudy.games.shogi.pages.metrics:METRICS",
    networks={"resnet": "understudy.games.shogi.network.res_tower:ActorCriticResTower"},
    selfplay="understudy.games.shogi.sample_games:setup",
)
