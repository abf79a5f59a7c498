"""The page that replays recorded games of the proving ground: map, units and supply, as an animation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from nicegui import ui

from understudy.errors import EpisodeError
from understudy.games.zerg.pages.recorded import Battle, field, players, read_battle, supply_chart
from understudy.games.zerg.sample_games import samples_of
from understudy.rundir import RunDir
from understudy.watch.dashboard.charts import Options
from understudy.watch.dashboard.markup import Markup, empty, tag
from understudy.watch.dashboard.parts import Update, box, card, chart_card, chosen_file
from understudy.watch.dashboard.runs import Watched, in_reader

_STYLE = Path(__file__).with_name("battles.css")
_PLAY_SECONDS = 0.25
_FAR = 1_000_000


def wanted(run: RunDir, _snapshot: object) -> bool:
    """Whether the run has a recording to show."""
    return bool(samples_of(run))


def show(watched: Watched) -> list[Update]:
    """Build the page; new recordings appear while it is open."""
    ui.add_css(_STYLE.read_text(encoding="utf-8"))
    viewer = BattleViewer(watched)
    seen: object = None

    def update() -> None:
        nonlocal seen
        if (now := watched.snapshot.at // 20) != seen:
            seen = now
            ui.timer(0, viewer.look_for_recordings, once=True)

    update()
    return [update]


class BattleViewer:
    """The map with its controls. Playback starts by itself."""

    def __init__(self, watched: Watched) -> None:
        self._run = watched.run
        self._files: dict[str, Path] = {}
        self._asked_for = chosen_file()
        self._battle: Battle | None = None
        self._at = 0
        self._playing = True
        with box("grid wide"):
            with card("Game", "recorded every four seconds of game time"):
                self._controls()
                with box("battle"):
                    self._ground = ui.html("").classes("ground")
                    self._map = ui.html("").classes("units")
            with box("side"):
                with card("Players"):
                    self._about = ui.html("")
                    self._players = ui.html("")
                self._draw = chart_card("battle_supply", self._chart, empty="No frame has been recorded yet.")
        ui.timer(_PLAY_SECONDS, self._tick)

    def _chart(self) -> Options | None:
        return None if self._battle is None else supply_chart(self._battle, self._at)

    def _controls(self) -> None:
        with box("filters"):
            self._file = ui.select([], on_change=self._open).props("dense outlined")
            self._button("skip_previous", "first", lambda: self._go(0))
            self._button("chevron_left", "back", lambda: self._go(self._at - 1))
            self._play = self._button("pause", "play", self._toggle)
            self._button("chevron_right", "forward", lambda: self._go(self._at + 1))
            self._button("skip_next", "last", lambda: self._go(_FAR))

    def _button(self, icon: str, name: str, do: Callable[[], Awaitable[None]]) -> ui.icon:
        with box("button", "button").on("click", do).props(f'aria-label="{name}" title="{name}"'):
            return ui.icon(icon)

    async def look_for_recordings(self) -> None:
        """Offer the recordings that are in the run now."""
        found = await in_reader(lambda: samples_of(self._run))
        self._files = {path.name: path for path in found}
        names = list(self._files)
        if names != self._file.options:
            wanted = self._file.value or self._asked_for
            self._file.set_options(names, value=wanted if wanted in self._files else (names[0] if names else None))
        if not names:
            self._map.set_content(empty("A game on the proving ground is recorded about once a minute."))

    async def _open(self) -> None:
        path = self._files.get(self._file.value)
        if path is None:
            return
        try:
            self._battle = await in_reader(lambda: read_battle(path))
        except EpisodeError as error:
            self._battle = None
            self._map.set_content(empty(f"{error}"))
            return
        self._ground.set_content(tag("img", src=self._battle.ground, alt="The map"))
        await self._go(0)

    async def _go(self, number: int) -> None:
        battle = self._battle
        if battle is None:
            return
        self._at = min(max(number, 0), max(len(battle.moments) - 1, 0))
        self._map.set_content(field(battle, self._at))
        self._about.set_content(about(battle, self._at))
        self._players.set_content(players(battle, self._at))
        self._draw()

    async def _toggle(self) -> None:
        self._playing = not self._playing
        self._play.set_name("pause" if self._playing else "play_arrow")
        if self._playing and self._battle is not None and self._at >= len(self._battle.moments) - 1:
            await self._go(0)

    async def _tick(self) -> None:
        if not self._playing or self._battle is None:
            return
        if self._at >= len(self._battle.moments) - 1:
            await self._toggle()
        else:
            await self._go(self._at + 1)


def about(battle: Battle, at: int) -> Markup:
    """The game and the moment that are shown."""
    seconds = int(battle.moments[at].seconds) if battle.moments else 0
    end = int(battle.moments[-1].seconds) if battle.moments else 0
    clock = f"{seconds // 60}:{seconds % 60:02} of {end // 60}:{end % 60:02}"
    return tag("div", tag("b", clock), tag("div", f"{battle.title}: {battle.result}", cls="muted"))
