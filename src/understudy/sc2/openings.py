"""The openings of a bot: its own, or those in `learned_build_orders.json`; one is chosen for each game."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping
from pathlib import Path

from understudy.sc2.build_orders import BuildOrders, OpeningStep, read_build_orders
from understudy.sc2.errors import ReplayError
from understudy.sc2.opponents import OpponentMemory
from understudy.sc2.races import race_name

logger = logging.getLogger(__name__)


class OpeningBook:
    """Openings by name, each with its expected win rate before the first game (`usual`).

    A file of learned build orders (`learned`) replaces them for its match-ups. A file that cannot be read is logged and
    ignored.
    """

    def __init__(self, usual: Mapping[str, float], *, race: int = 0, learned: Path | None = None) -> None:
        self._usual, self._race = dict(usual), race
        self._learned: BuildOrders | None = None
        if learned is not None and learned.exists():
            try:
                self._learned = read_build_orders(learned)
            except ReplayError as error:
                logger.warning("The build orders in %s cannot be used (%s).", learned, error)

    def against(self, race: int) -> Mapping[str, float]:
        """The openings against a race (0: unknown), each with its expected win rate."""
        found = self._learned.openings(self._matchup(race)) if self._learned is not None else {}
        return found or self._usual

    def steps(self, name: str, race: int) -> list[OpeningStep]:
        """The steps of an opening from the file; empty for the others."""
        if self._learned is None or name not in self._learned.openings(self._matchup(race)):
            return []
        return self._learned.opening(self._matchup(race), name)

    def choose(self, memory: OpponentMemory, opponent_id: str, race: int, chance: random.Random | None) -> str:
        """Choose the opening for a game by past results: the best one or, with `chance`, a draw by Thompson sampling.

        The result is empty if there are no openings.
        """
        openings = self.against(race)
        return memory.choose_opening(opponent_id, race, openings, chance) if openings else ""

    def _matchup(self, race: int) -> str:
        return f"{race_name(self._race)[0]}v{race_name(race)[0]}"  # an unknown race has no match-up: all together
