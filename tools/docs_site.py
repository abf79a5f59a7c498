"""Additions to mkdocs.yml for MkDocs: pages under ko/ are marked as Korean for browsers and screen readers."""

from __future__ import annotations

from typing import Any


def on_post_page(output: str, *, page: Any, config: Any) -> str:
    """Give a Korean page its language."""
    return output.replace('<html lang="en"', '<html lang="ko"', 1) if page.file.src_uri.startswith("ko/") else output
