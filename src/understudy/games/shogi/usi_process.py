"""USI engines in separate processes: starting them, asking them, ending them."""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from understudy.games.shogi.errors import EngineError
from understudy.games.shogi.usi_options import UsiOption, setoption

_KNOWN: dict[str, tuple[str, ...]] = {
    "fairy-stockfish": (),
    "gnushogi": (sys.executable, "-m", "understudy.games.shogi.gnushogi_bridge"),
}
"""Known programs, and the arguments before each that make it speak USI."""
_PLACES = ("/usr/games", "/usr/local/games")  # Debian installs games here, which is not always on the path
_BEGINNING = 120.0  # seconds: loading a large network on a busy machine


def find_engines() -> dict[str, list[str]]:
    """The engines installed on this machine: name → command."""
    found = {name: shutil.which(name) or shutil.which(name, path=os.pathsep.join(_PLACES)) for name in _KNOWN}
    return {name: [*_KNOWN[name], path] for name, path in found.items() if path}


class UsiProcess:
    """An engine in a separate process; a context manager that ends it."""

    def __init__(
        self, command: str | Sequence[str], options: Mapping[str, str | int] | None = None, patience: float = 30.0
    ) -> None:
        """`patience` is how many seconds an answer may take; at its start, an engine may take longer."""
        self.command = [command] if isinstance(command, str) else list(command)
        self.name = Path(self.command[0]).name
        self.options: dict[str, UsiOption] = {}
        """The options that the engine lists, by name."""
        self._patience = patience
        self._given = dict(options or {})
        self._start()

    def restart(self) -> None:
        """End the engine, which may be dead or silent, and start it again."""
        self.close()
        self._start()

    def send(self, line: str) -> None:
        """Send a line to the engine."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except (OSError, ValueError) as error:
            code = self._process.poll()
            raise EngineError(f"{self.name} ended (exit code {code}); {line!r} cannot be sent.") from error

    def until(self, word: str, patience: float = 0.0) -> list[str]:
        """Read lines up to and including the first that begins with this word."""
        lines: list[str] = []
        patience = patience or self._patience
        deadline = time.monotonic() + patience
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise EngineError(f"{self.name} did not say {word!r} within {patience:g} s.") from None
            if line is None:
                raise EngineError(f"{self.name} ended (exit code {self._process.poll()}) instead of saying {word!r}.")
            lines.append(line)
            if line.split()[:1] == [word]:
                return lines

    def close(self) -> None:
        """End the engine: first with `quit`, after two seconds by force."""
        if self._process.poll() is None:
            try:
                self.send("quit")
                self._process.wait(2)
            except (EngineError, subprocess.TimeoutExpired):
                self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:  # unsent data for a dead engine
                    continue

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> None:
        self._lines: queue.Queue[str | None] = queue.Queue()
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                errors="replace",
                bufsize=1,
            )
        except OSError as error:
            raise EngineError(f"The engine {self.command[0]} does not start: {error}") from error
        threading.Thread(target=self._listen, args=(self._process, self._lines), daemon=True).start()
        try:
            self._begin(self._given)
        except EngineError:
            self.close()
            raise

    def _begin(self, options: Mapping[str, str | int]) -> None:
        self.send("usi")
        for line in self.until("usiok", _BEGINNING):
            if line.startswith("id name "):
                self.name = line.removeprefix("id name ").strip()
            if (option := UsiOption.parse(line)) is not None:
                self.options[option.name] = option
        for name, value in options.items():
            self.send(setoption(self.options, name, str(value), self.name))
        self.send("isready")
        self.until("readyok", _BEGINNING)

    @staticmethod
    def _listen(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.put(line.strip())
        except ValueError:  # closed while reading
            pass
        lines.put(None)
