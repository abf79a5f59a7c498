"""A real Chromium, started once for all tests of the dashboard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tools.chromium import MISSING, Browser, find_chromium


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        pytest.skip(MISSING)
    with Browser(program) as started:
        yield started
