from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("nicegui")
from understudy.watch.dashboard import pages


class Page:
    """What NiceGUI keeps of a page that was loaded."""

    instances: dict[int, Page] = {}  # noqa: RUF012 - as NiceGUI has it

    def __init__(self, number: int, connected: bool) -> None:
        self.number, self.created, self.has_socket_connection = number, float(number), connected
        self.instances[number] = self

    def delete(self) -> None:
        del self.instances[self.number]


def test_pages_that_no_browser_has_open_are_forgotten_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Page, "instances", {})
    opened = [Page(number, connected=number % 10 == 0) for number in range(200)]
    monkeypatch.setattr(pages, "Client", Page)
    monkeypatch.setattr(pages, "ui", SimpleNamespace(context=SimpleNamespace(client=opened[-1])))
    pages._forget_abandoned_pages()
    left = list(Page.instances)
    assert [number for number in left if number % 10 == 0] == list(range(0, 200, 10))
    abandoned = [number for number in left if number % 10 != 0]
    assert len(abandoned) == pages._MOST_ABANDONED + 1  # and the one that is being made
    assert min(abandoned) > 130
