"""The metrics of the page of replays."""

from __future__ import annotations

from understudy.watch.metrics import Metric

METRICS = (
    Metric(
        "replays_total",
        "Replays analysed",
        "replays",
        "In replays",
        "Replays by what became of them: analysed, rejected (including those set aside after failing three times).",
        "Nearly all analysed.",
        "The reasons are in the ledger and at the end of `understudy replays`.",
        counter=True,
    ),
    Metric(
        "milestone_seconds",
        "Build-order timelines",
        "game clock of each first milestone",
        "In replays",
        "When the first of each building, unit or upgrade came: the mean over the replays of a match-up, in which "
        "wins, people and the newest patch weigh more.",
        "Openings of the same match-up lie close together.",
        "A milestone at an odd time comes from few replays: see how many in the table of openings.",
    ),
    Metric(
        "growth_by_minute",
        "Drones and army",
        "drones, and supply of the army",
        "In replays",
        "How many drones and how much army, in supply, players had at each minute: the mean over all replays, in which "
        "wins, people and the newest patch weigh more.",
        "Drones rise first, the army later.",
        "A sudden fall late in the game comes from the few replays that lasted so long.",
    ),
)
