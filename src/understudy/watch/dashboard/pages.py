"""The pages of the dashboard: their addresses, the frame around them, and their updates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from nicegui import Client, ui
from nicegui import app as nicegui_app

from understudy.games.spec import all_pages, resolve
from understudy.watch.dashboard import game_page as one_game
from understudy.watch.dashboard import games, home, learning, machine, models, overview, stage
from understudy.watch.dashboard.markup import Markup, join, light, tag
from understudy.watch.dashboard.missing import missing_page
from understudy.watch.dashboard.parts import Update, box, live_html
from understudy.watch.dashboard.runs import FOLDERS, Runs, Watched
from understudy.watch.prometheus import CONTENT_TYPE, exposition

_STYLE = Path(__file__).with_name("style.css")
_PATIENCE_SECONDS = 60  # a busy machine may need this long to read a run
_MOST_ABANDONED = 50  # pages whose browser has not connected, or reconnected, yet
_THEME_COOKIE = "understudy_theme"
# A button beside a command copies it. `navigator.clipboard` exists only on localhost and with TLS.
_COPY = """document.addEventListener('click', async event => {
  const button = event.target.closest('[data-copy]');
  if (!button) return;
  event.preventDefault();
  const text = button.dataset.copy;
  try { await navigator.clipboard.writeText(text) } catch {
    const area = document.body.appendChild(document.createElement('textarea'));
    area.value = text; area.select(); document.execCommand('copy'); area.remove();
  }
  button.classList.add('done');
  setTimeout(() => button.classList.remove('done'), 1200);
});"""
TABS: dict[str, tuple[str, Callable[[Watched], list[Update]]]] = {
    "overview": ("Overview", overview.show),
    "results": ("Results", learning.show_results),
    "stage": ("Stage", stage.show),
    "learning": ("Learning", learning.show),
    "games": ("Games", games.show),
    "models": ("Models", models.show),
    "machine": ("Machine", machine.show),
}


def add(app: FastAPI, runs: Runs) -> None:
    """Add every page to the application."""
    ui.add_css(_STYLE.read_text(encoding="utf-8"), shared=True)
    ui.add_body_html(f"<script>{_COPY}</script>", shared=True)

    @nicegui_app.exception_handler(404)
    async def not_found(request: Request, _: Exception) -> Response:
        return missing_page(runs, f"There is nothing at {request.url.path[:200]}.")

    @app.get("/metrics")
    async def metrics() -> Response:
        for watched in runs:
            await watched.look()
        return PlainTextResponse(exposition([watched.snapshot for watched in runs]), media_type=CONTENT_TYPE)

    @ui.page("/", response_timeout=_PATIENCE_SECONDS)
    async def first_page(request: Request) -> None:
        for watched in runs:
            await watched.look()
        if len(runs) == 1:
            _run_page(request, runs, next(iter(runs)), "overview")
        else:
            with _frame(request, runs, None, "") as updates:
                updates.extend(home.show(runs))

    @ui.page("/run/{name}", response_timeout=_PATIENCE_SECONDS)
    @ui.page("/run/{name}/{tab}", response_timeout=_PATIENCE_SECONDS)
    async def run_page(request: Request, name: str, tab: str = "overview") -> Response | None:
        watched = runs.get(name)
        if watched is None or _page_of(tab) is None:
            return missing_page(runs, f"There is no run or page at {request.url.path[:200]}.")
        await watched.look()
        _run_page(request, runs, watched, tab)
        return None

    @ui.page("/run/{name}/game/{folder}/{file}", response_timeout=_PATIENCE_SECONDS)
    async def game_page(request: Request, name: str, folder: str, file: str) -> Response | None:
        watched = runs.get(name)
        if watched is not None and watched.file(folder, file) is None:
            moved = [other for other in FOLDERS if watched.file(other, file) is not None]
            if moved:  # moved from the buffer to the archive since the link was shown
                return RedirectResponse(f"/run/{name}/game/{moved[0]}/{file}")
        if watched is None or watched.file(folder, file) is None:
            gone = "It may have been deleted to keep the archive within its limits; the page Games lists what is there."
            return missing_page(runs, f"There is no game {file[:200]} in {folder[:20]}. {gone}")
        await watched.look()
        with _frame(request, runs, watched, "games"):
            await one_game.show(watched, folder, file)
        return None


def _run_page(request: Request, runs: Runs, watched: Watched, tab: str) -> None:
    with _frame(request, runs, watched, tab) as updates:
        show = _page_of(tab)
        assert show is not None  # the caller has checked
        updates.extend(show(watched) or ())  # the page of a game that never changes may return nothing


@contextmanager
def _frame(request: Request, runs: Runs, here: Watched | None, tab: str) -> Iterator[list[Update]]:
    """The frame of a page; the content goes inside. `updates` are called after every refresh of the runs."""
    _forget_abandoned_pages()
    ui.page_title(f"{here.name} · Understudy" if here else "Understudy")
    updates: list[Update] = []
    with box("top"):
        with box("bar names"):
            ui.html(tag("a", "Understudy", href="/", cls="brand"))
            updates.append(live_html(lambda: _names(runs, here), "runs"))
            _theme_button(request)
        if here is not None:
            with box("bar"):
                updates.append(live_html(lambda: _tabs(here, tab), "tabs"))
    with box("page"):
        yield updates

    async def refresh() -> None:
        for watched in runs:
            await watched.look()
        for update in updates:
            update()

    ui.timer(runs.refresh_seconds, refresh)


def _forget_abandoned_pages() -> None:
    """Limit the memory of pages that no browser displays, or that were closed before they opened their websocket."""
    abandoned = [
        client
        for client in Client.instances.values()
        if not client.has_socket_connection and client is not ui.context.client
    ]
    for client in sorted(abandoned, key=lambda client: client.created)[:-_MOST_ABANDONED]:
        client.delete()


def _names(runs: Runs, here: Watched | None) -> Markup:
    links: Sequence[Markup] = [
        tag(
            "a",
            light(watched.health.light),
            tag("span", watched.name),
            href=f"/run/{watched.name}",
            cls="run here" if watched is here else "run",
            title=watched.health.sentence,
        )
        for watched in runs
    ]
    return join(links)


def _tabs(watched: Watched, here: str) -> Markup:
    titles = {key: title for key, (title, _) in TABS.items()}
    titles |= {page.name: page.title for page in all_pages() if page in watched.pages or page.name == here}
    return join(
        tag("a", title, href=f"/run/{watched.name}/{key}", cls="tab here" if key == here else "tab")
        for key, title in titles.items()
    )


def _page_of(tab: str) -> Callable[[Watched], list[Update]] | None:
    """The function that builds the page of this name, from the core or from a game."""
    if tab in TABS:
        return TABS[tab][1]
    return next((resolve(page.show) for page in all_pages() if page.name == tab), None)


def _theme_button(request: Request) -> None:
    """A button for light or dark. The system's preference applies until it is used; a cookie stores the choice."""
    chosen = {"dark": True, "light": False}.get(request.cookies.get(_THEME_COOKIE, ""))
    dark = ui.dark_mode(chosen)

    async def switch() -> None:
        now = await ui.run_javascript("document.body.classList.contains('body--dark')")
        dark.set_value(not now)
        word = "light" if now else "dark"
        ui.run_javascript(f"document.cookie = '{_THEME_COOKIE}={word}; Path=/; SameSite=Strict; Max-Age=31536000'")

    with (
        box("icon-button theme", "button").on("click", switch).props('aria-label="light or dark" title="Light or dark"')
    ):
        ui.icon("contrast")
