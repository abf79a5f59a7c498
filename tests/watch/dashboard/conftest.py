"""A real Chromium, started once for all tests of the dashboard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tools.chromium import MISSING, Browser, find_chromium


def chromium_or_skip() -> str:
    """The program; where there is none, the test is skipped and says what to do."""
    program = find_chromium()
    if program is None:
        pytest.skip(MISSING)
    return program


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with Browser(chromium_or_skip()) as started:
        yield started
