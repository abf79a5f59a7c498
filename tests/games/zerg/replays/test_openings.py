from __future__ import annotations

import pytest

from understudy.games.zerg.replays.openings import name_of, steps_of
from understudy.sc2.build_orders import OpeningStep, opening_text, parse_opening
from understudy.sc2.errors import ReplayError

STANDARD = {
    "overlord_1": (12.0, 13.0),
    "hatchery_2": (47.0, 16.4),
    "gas_1": (68.0, 18.0),
    "pool": (73.0, 17.0),
    "lair": (300.0, 60.0),
    "metabolic_boost": (170.0, 30.0),
}


def test_an_opening_is_written_as_bot_authors_write_it() -> None:
    assert opening_text(steps_of(STANDARD)) == "13 overlord, 16 hatch, 18 gas, 17 pool"


def test_the_text_gives_the_steps_back() -> None:
    steps = [
        OpeningStep(13, "overlord"),
        OpeningStep(17, "hatchery"),
        OpeningStep(30, "evolution_chamber"),
        OpeningStep(40, "baneling_nest"),
    ]
    assert parse_opening(opening_text(steps)) == steps
    assert parse_opening("") == []


@pytest.mark.parametrize("text", ["hatch 17", "17", "17 hatch; 18 gas", "-3 pool"])
def test_other_text_is_an_error_that_shows_the_form(text: str) -> None:
    with pytest.raises(ReplayError, match="17 hatch"):
        parse_opening(text)


@pytest.mark.parametrize(
    ("milestones", "name"),
    [
        (STANDARD, "hatch-gas-pool"),
        ({"pool": (17.0, 12.0), "hatchery_2": (74.0, 17.0)}, "12 to 14 pool"),
        ({"pool": (60.0, 17.0), "hatchery_2": (80.0, 19.0), "roach_warren": (130.0, 22.0)}, "pool-hatch, roaches"),
        ({**STANDARD, "roach_warren": (400.0, 80.0)}, "hatch-gas-pool"),
        ({**STANDARD, "roach_warren": (200.0, 40.0), "baneling_nest": (190.0, 38.0)}, "hatch-gas-pool, banelings"),
        ({"overlord_1": (12.0, 13.0)}, None),
        ({"gas_1": (12.0, 13.0)}, None),
    ],
)
def test_openings_are_named_by_their_order_and_follow_up(
    milestones: dict[str, tuple[float, float]], name: str | None
) -> None:
    assert name_of(milestones) == name
