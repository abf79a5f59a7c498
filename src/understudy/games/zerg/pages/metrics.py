"""The metrics of the pages of replays and of recorded games."""

from __future__ import annotations

from understudy.watch.metrics import Metric

METRICS = (
    Metric(
        "battle_supply",
        "Supply",
        "supply used",
        "In recorded games",
        "The supply that each player uses: workers, army and everything else that takes supply.",
        "Both rise; a steep fall is a lost army.",
        "If the bot stays far behind from the first minutes, look at its economy.",
    ),
    Metric(
        "replays_total",
        "Replays analysed",
        "replays",
        "In replays",
        "Replays by outcome: analysed, rejected (including those set aside after three failures).",
        "Nearly all analysed.",
        "The reasons are in the ledger and at the end of `understudy replays`.",
        counter=True,
    ),
    Metric(
        "milestone_seconds",
        "Build-order timelines",
        "game clock of each first milestone",
        "In replays",
        "When the first of each building, unit or upgrade was started: the mean over the replays of a match-up. "
        "Wins, human players and the newest patch have more weight.",
        "Openings of the same match-up are close together.",
        "A milestone at an unusual time comes from few replays; the table of openings shows how many.",
    ),
    Metric(
        "growth_by_minute",
        "Drones and army",
        "drones, and supply of the army",
        "In replays",
        "Drones and army supply at each minute: the mean over all replays. Wins, human players and the newest patch "
        "have more weight.",
        "Drones rise first, the army later.",
        "A sudden drop late in the game comes from the few replays that are that long.",
    ),
)
