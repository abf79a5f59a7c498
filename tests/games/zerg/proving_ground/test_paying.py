"""When a building is paid for, and what becomes of the money when it is not built."""

from __future__ import annotations

from games.zerg.proving_ground.scenes import new_game, slots
from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.starcraft import TERRAN, ZERG

DEPOT = kind("SupplyDepot")


def terran(minerals: float = 500.0) -> tuple[Simulation, int]:
    """A game and a worker of the first player that is idle, so that no income disturbs the sums."""
    game = new_game(TERRAN, ZERG)
    for worker in slots(game, "SCV"):
        game.order(0, worker, names.STOP)
    game.state["minerals"][0] = minerals
    return game, slots(game, "SCV")[0]


def place(game: Simulation, number: int = 0) -> tuple[float, float]:
    x, y = game.map.starts[0]
    return round(x) + 6.0 + 2.0 * number, round(y) + 8.0


def build(game: Simulation, worker: int, number: int = 0, queued: bool = False) -> int:
    x, y = place(game, number)
    return game.order(0, worker, names.BUILD_AT, DEPOT, x=x, y=y, queued=queued)


def test_the_price_is_taken_with_the_order_and_once() -> None:
    game, worker = terran()
    assert build(game, worker) == names.SUCCESS
    assert game.state["minerals"][0] == 400
    assert build(game, worker) == names.SUCCESS  # the same order again
    assert game.state["minerals"][0] == 400
    game.step(200)
    assert len(slots(game, "SupplyDepot")) == 1
    assert game.state["minerals"][0] == 400
    assert game.state["score"][0, names.SPENT_MINERALS] == 100


def test_one_price_sends_one_worker() -> None:
    game, _ = terran(minerals=150)
    answers = [build(game, worker, number) for number, worker in enumerate(slots(game, "SCV"))]
    assert answers.count(names.SUCCESS) == 1
    assert set(answers[1:]) == {names.NOT_ENOUGH_MINERALS}


def test_queued_buildings_are_paid_for_at_once() -> None:
    game, worker = terran(minerals=250)
    assert build(game, worker, 0) == names.SUCCESS
    assert build(game, worker, 1, queued=True) == names.SUCCESS
    assert build(game, worker, 2, queued=True) == names.NOT_ENOUGH_MINERALS
    assert game.state["minerals"][0] == 50
    game.step(1200)
    assert len(slots(game, "SupplyDepot")) == 2
    assert game.state["minerals"][0] == 50


def test_another_order_a_death_and_a_blocked_place_return_the_price() -> None:
    game, worker = terran()
    build(game, worker)
    game.order(0, worker, names.STOP)
    assert game.state["minerals"][0] == 500
    assert game.state["score"][0, names.SPENT_MINERALS] == 0

    build(game, worker)
    build(game, worker, 1)  # elsewhere: the first price is returned, the second one taken
    assert game.state["minerals"][0] == 400
    game.destroy(worker)
    assert game.state["minerals"][0] == 500

    other = slots(game, "SCV")[0]
    x, y = place(game, 2)
    game.state["x"][other], game.state["y"][other] = game.map.starts[0][0] - 6, game.map.starts[0][1] - 4
    build(game, other, 2)
    game.spawn(kind("EngineeringBay"), 0, x + 0.5, y + 0.5)
    game.step(300)
    assert game.state["minerals"][0] == 500
    assert int(game.state["failures"]) == 1
    assert not slots(game, "SupplyDepot")


def test_a_drone_that_builds_gets_the_price_of_its_other_buildings_back() -> None:
    game = new_game()
    for drone in slots(game, "Drone"):
        game.order(0, drone, names.STOP)
    game.state["minerals"][0] = 1000
    x, y = game.map.starts[0]
    drone = slots(game, "Drone")[0]
    assert game.order(0, drone, names.BUILD_AT, kind("SpawningPool"), x=x + 6, y=y + 3) == names.SUCCESS
    assert (
        game.order(0, drone, names.BUILD_AT, kind("EvolutionChamber"), x=x + 6, y=y - 3, queued=True) == names.SUCCESS
    )
    assert game.state["minerals"][0] == 725
    game.step(200)
    assert len(slots(game, "SpawningPool")) == 1
    assert game.state["minerals"][0] == 800


def test_another_scv_walks_to_what_one_began_and_goes_on() -> None:
    game, worker = terran()
    build(game, worker)
    game.step(150)
    depot = slots(game, "SupplyDepot")[0]
    game.destroy(worker)
    progress = float(game.state["progress"][depot])
    game.step(50)
    assert game.state["progress"][depot] == progress
    other = slots(game, "SCV")[0]
    game.order(0, other, names.MOVE, x=game.map.starts[0][0], y=game.map.starts[0][1] - 6)
    game.step(60)
    assert game.order(0, other, names.REPAIR, target=depot, queued=True) == names.SUCCESS
    game.step(20)
    assert game.state["progress"][depot] == progress  # it is still on its way
    game.step(600)
    assert game.state["progress"][depot] == 1
    assert game.state["minerals"][0] == 400


def test_a_queued_stop_ends_the_queue_and_does_not_clear_it() -> None:
    game, worker = terran()
    x, y = game.map.bases[0].geysers[0]
    assert game.order(0, worker, names.BUILD_AT, kind("Refinery"), x=x, y=y) == names.SUCCESS
    assert game.order(0, worker, names.STOP, queued=True) == names.SUCCESS
    assert game.state["orders"][worker] == 2
    game.step(900)
    assert len(slots(game, "Refinery")) == 1
    assert game.state["orders"][worker] == 0  # without the stop it would gather
    assert game.order(0, worker, names.MOVE, x=x, y=y) == names.SUCCESS
    assert game.order(0, worker, names.STOP) == names.SUCCESS
    assert game.state["orders"][worker] == 0


def test_a_cancelled_structure_returns_three_quarters_of_its_price_and_its_drone() -> None:
    game = new_game()
    for drone in slots(game, "Drone"):
        game.order(0, drone, names.STOP)
    game.state["minerals"][0] = 200
    before = len(slots(game, "Drone"))
    x, y = game.map.starts[0]
    assert game.order(0, slots(game, "Drone")[0], names.BUILD_AT, kind("SpawningPool"), x=x + 6, y=y + 3) == 1
    game.step(200)
    assert (len(slots(game, "Drone")), game.state["minerals"][0]) == (before - 1, 0)
    assert game.order(0, slots(game, "SpawningPool")[0], names.CANCEL) == names.SUCCESS
    assert (len(slots(game, "Drone")), game.state["minerals"][0]) == (before, 150)
    assert not slots(game, "SpawningPool")

    game, worker = terran()
    build(game, worker)
    game.step(150)
    assert game.order(0, slots(game, "SupplyDepot")[0], names.CANCEL) == names.SUCCESS
    assert game.state["minerals"][0] == 475
