"""The measure that compares recorded games with the simulation's prices: on a game of the simulation, and made up."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from games.zerg.proving_ground.scenes import new_game, slots
from understudy.errors import SettingsError
from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.conformance import replays
from understudy.games.zerg.proving_ground.conformance.replays import BETWEEN_NOTES, Books, Walk
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.starcraft import TERRAN, ZERG

DEPOT, DEPOT_PRICE = kind("SupplyDepot"), 100.0


def worth(game: Simulation) -> float:
    """What the first player has in the bank and in depots; it makes nothing else."""
    return float(game.state["minerals"][0]) + DEPOT_PRICE * len(slots(game, "SupplyDepot"))


def test_a_game_of_the_simulation_agrees_with_the_rule() -> None:
    game = new_game(TERRAN, ZERG)
    books = Books()
    x, y = game.map.starts[0]
    ordered: list[int] = []
    for note in range(1, 25):
        if note % 4 == 3:
            place = round(x) + 40.0, round(y) + 2.0 * note  # further than a worker walks until the next note
            worker = slots(game, "SCV")[note // 4]
            assert game.order(0, worker, names.BUILD_AT, DEPOT, x=place[0], y=place[1]) == names.SUCCESS
            ordered.append(game.loop)
        before = len(slots(game, "SupplyDepot"))
        while game.loop < note * BETWEEN_NOTES:
            game.step(8)
            if len(slots(game, "SupplyDepot")) > before:
                before += 1
                books.walks.append(Walk(ordered[-1], game.loop, DEPOT_PRICE))
        books.worth[game.loop] = worth(game)
    shares = replays.share_missing(replays.missing(books))
    assert len(shares) >= 3
    assert 0.8 < median(shares) < 1.2


@pytest.mark.parametrize(("paid_at_the_order", "share"), [(True, 1.0), (False, 0.0)])
def test_the_two_rules_are_told_apart(paid_at_the_order: bool, share: float) -> None:
    walk, price = Walk(300, 400, 150.0), 150.0
    worths = {frame: frame * 0.9 for frame in range(0, 1600, BETWEEN_NOTES)}
    if paid_at_the_order:
        worths |= {frame: value - price for frame, value in worths.items() if walk.ordered < frame < walk.placed}
    assert replays.share_missing(replays.missing(Books(worths, [walk]))) == pytest.approx([share])


def test_files_that_are_no_replays_are_counted_and_a_folder_without_any_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("sc2reader")
    with pytest.raises(SettingsError, match="no SC2Replay files"):
        replays.replay_group(tmp_path)
    (tmp_path / "broken.SC2Replay").write_bytes(b"MPQ\x1b" + bytes(64))
    report = replays.replay_group(tmp_path)
    assert not report.holds
    assert "1 of 1 replays have no orders that can be read" in report.remark
