"""The metrics of the shogi page."""

from __future__ import annotations

from understudy.watch.metrics import Metric

METRICS = (
    Metric(
        "position_value",
        "Value",
        "pawns for Black",
        "In one game of shogi",
        "What each player thought of the position when it moved, as it stands in the record; cut at 20 pawns, which "
        "is as good as won. Of a network it is the chance to win, on the scale of engines: 6 pawns are 73 %.",
        "Both players' lines go together, and one way, as the game is decided.",
        "If they are far apart, one of the two judges badly; in self-play both are the same network.",
    ),
    Metric(
        "move_probability",
        "Policy",
        "share of the probability",
        "In one game of shogi",
        "How probable the policy, without search, makes each legal move in the position on the board: the five "
        "most probable. In self-play the move is drawn with these probabilities.",
        "Nearly equal in the first games, later a few moves have most of it.",
        "If one move has nearly all of it in most positions, see entropy.",
    ),
)
