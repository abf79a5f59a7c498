"""The page for an address that does not exist, with links to those that do."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from understudy.watch.dashboard.markup import Markup, join, tag
from understudy.watch.dashboard.runs import Runs

_PHONE = '<meta name="viewport" content="width=device-width, initial-scale=1">'
_STYLE = """:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: 12vh auto; padding: 0 1rem }
body * { overflow-wrap: anywhere }
a { display: inline-block; padding: .3rem .6rem .3rem 0 }"""


def missing_page(runs: Runs, what: str) -> HTMLResponse:
    """An error page (404) with links to the existing pages."""
    links = [tag("li", tag("a", watched.name, href=f"/run/{watched.name}")) for watched in runs]
    page = (
        tag("title", "Not found · Understudy"),
        tag("style", Markup(_STYLE)),
        tag("h1", "There is no such page"),
        tag("p", what),
        tag("p", "This dashboard shows:"),
        tag("ul", join(links)),
        tag("p", tag("a", "Back to the first page", href="/")),
    )
    return HTMLResponse(f'<!doctype html><html lang="en"><meta charset="utf-8">{_PHONE}{join(page)}</html>', 404)
