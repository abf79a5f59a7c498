"""`understudy dashboard`: serves the pages, with access control, until Ctrl-C."""

from __future__ import annotations

import contextlib
import socket
import sys
import webbrowser
from collections.abc import Sequence

import uvicorn
from fastapi import FastAPI
from nicegui import ui

from understudy.errors import SettingsError
from understudy.machine.signals import hang_up_as_terminated
from understudy.rundir import RunDir
from understudy.settings import DashboardSettings
from understudy.watch.dashboard import access, pages
from understudy.watch.dashboard.runs import Runs

_GRACE_SECONDS = 1
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#2a62d8"/>'
    '<path d="M6 23l7-8 5 4 8-10" fill="none" stroke="#fff" stroke-width="3.4" stroke-linecap="round"'
    ' stroke-linejoin="round"/></svg>'
)
_RECONNECT_SECONDS = 30.0  # a busy machine, or a phone, may be silent for a while without losing its page


def serve(run_dirs: Sequence[RunDir], settings: DashboardSettings, *, show: bool = False) -> int:
    """Show these runs until Ctrl-C; SettingsError if the dashboard may not, or cannot, listen on the given address."""
    access.check(settings)
    runs = Runs(run_dirs, settings.refresh_seconds)
    with _listen(settings.host, settings.port) as listener:
        port = listener.getsockname()[1]
        address = f"http://{f'[{settings.host}]' if ':' in settings.host else settings.host}:{port}"
        config = uvicorn.Config(
            access.AccessControl(_application(runs), settings, port),
            log_level="warning",
            timeout_graceful_shutdown=_GRACE_SECONDS,
            server_header=False,
        )
        print(f"[OK] Dashboard of {', '.join(runs.names)}: {address} (Ctrl-C ends it)", flush=True)
        if show:
            webbrowser.open(address)
        hang_up_as_terminated()
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run([listener])
    return 0


def _application(runs: Runs) -> FastAPI:
    app = FastAPI(openapi_url=None)
    pages.add(app, runs)
    ui.run_with(
        app,
        title="Understudy",
        favicon=_ICON,
        dark=None,
        tailwind=False,
        show_welcome_message=False,
        reconnect_timeout=_RECONNECT_SECONDS,
    )
    return app


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    if sys.platform != "win32":  # on Windows, this would let a second dashboard take the port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()  # a browser that connects before the server is ready waits a moment
    except OSError as error:
        listener.close()
        raise SettingsError(
            f"The dashboard cannot listen on {host}, port {port}: {error.strerror}. "
            "Choose another with --dashboard.port, or 0 for any free one."
        ) from error
    return listener
