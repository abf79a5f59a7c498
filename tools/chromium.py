"""Finds Chromium, and drives it: a page is opened, looked at, clicked on and photographed over the DevTools protocol.

    python tools/chromium.py        says where Chromium is; as root on Debian or Ubuntu, installs it if it is missing

The tests of the dashboard and the tool that makes the screenshots use it. It needs `websockets`, which NiceGUI brings.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
MISSING = "No Chromium was found. Install it (Debian: apt-get install chromium), or set CHROMIUM to its program."
_FLAGS = (
    "--headless=new",
    "--remote-debugging-port=0",
    "--no-first-run",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    # Whatever asks for another machine gets an error, here as on a machine without a network.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
_LOOK_SECONDS = 0.02
# Nothing moves while it is clicked on or photographed.
_STILL = """addEventListener('DOMContentLoaded', () => {
    const style = document.createElement('style');
    style.textContent = '*, *::before, *::after { transition: none !important; animation: none !important; }';
    document.head.append(style);
});"""


def find_chromium() -> str | None:
    """The program of Chromium, or of a relative of it; None if there is none."""
    if named := os.environ.get("CHROMIUM"):
        return named
    found = (shutil.which(name) for name in NAMES)
    return next((path for path in found if path), next((place for place in PLACES if Path(place).exists()), None))


class Browser:
    """A headless Chromium with its own profile, which ends with the `with` block."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="understudy-chromium-", ignore_cleanup_errors=True)
        flags = [*_FLAGS, f"--user-data-dir={self._profile.name}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            flags.append("--no-sandbox")  # Chromium refuses to run as root with it
        self._process = subprocess.Popen(
            [program, *flags, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._address = f"127.0.0.1:{self._port()}"
        self._pages = ExitStack()

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pages.close()
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._profile.cleanup()

    def open(self, url: str, width: int = 1280, height: int = 900, *, dark: bool = False, scale: float = 1.0) -> Tab:
        """A new tab of this size at this address, once the page has loaded; `dark` is what the system prefers."""
        request = urllib.request.Request(f"http://{self._address}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request) as answer:
            target = json.load(answer)
        page = Tab(target["webSocketDebuggerUrl"])
        self._pages.callback(page.disconnect)
        page.resize(width, height, scale)
        page.command("Page.enable")
        page.command("Network.enable")
        page.command("Runtime.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.command("Emulation.setEmulatedMedia", features=[scheme])
        page.command("Page.addScriptToEvaluateOnNewDocument", source=_STILL)
        page.go(url)
        return page

    def _port(self) -> int:
        """Where Chromium listens, which it writes into its profile."""
        note = Path(self._profile.name) / "DevToolsActivePort"
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise RuntimeError(f"Chromium ended at once with code {self._process.returncode}.")
            if note.exists() and (lines := note.read_text().splitlines()):
                return int(lines[0])
            time.sleep(_LOOK_SECONDS)
        self._process.kill()
        raise RuntimeError("Chromium did not open its DevTools port within 30 s.")


class Tab:
    """One tab. `requested` holds every address it asked for, `complaints` what it wrote to its console as an error."""

    def __init__(self, address: str) -> None:
        from websockets.sync.client import connect  # noqa: PLC0415 - finding Chromium needs no library

        self._open = ExitStack()
        self._socket = self._open.enter_context(connect(address, max_size=None, ping_interval=None, close_timeout=1))
        self._number = 0
        self.requested: list[str] = []
        self.complaints: list[str] = []

    def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Do one thing of the DevTools protocol and return what it answers."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=60))
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error'].get('message')}")
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def go(self, url: str) -> None:
        """Open an address in this tab and wait until it has loaded."""
        self.evaluate("window.left = true")
        failed = self.command("Page.navigate", url=url).get("errorText")
        if failed:
            raise RuntimeError(f"{url} did not open: {failed}")
        self.wait_for("!window.left && document.body && document.readyState === 'complete'")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; a promise is awaited."""
        answer = self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, condition: str, seconds: float = 60.0) -> Any:
        """Wait until a JavaScript expression is true and return its value; the error shows what the page said."""
        deadline = time.monotonic() + seconds
        while True:
            if value := self.evaluate(condition):
                return value
            if time.monotonic() > deadline:
                raise TimeoutError(f"Not so within {seconds:g} s: {condition}\nThe page says:\n{self.text()}")
            time.sleep(_LOOK_SECONDS)

    def wait_for_text(self, text: str, selector: str = "body", seconds: float = 60.0) -> None:
        """Wait until an element's text holds this one."""
        self.wait_for(f"(document.querySelector({selector!r})?.innerText ?? '').includes({json.dumps(text)})", seconds)

    def text(self, selector: str = "body") -> str:
        """What a person reads there."""
        return str(self.evaluate(f"document.querySelector({selector!r})?.innerText ?? ''"))

    def click(self, selector: str) -> None:
        """Click on the first element of this selector as a mouse does, once it is there and nothing lies over it."""
        x, y = self.wait_for(f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            if (!element) return null;
            element.scrollIntoView({{block: 'center'}});
            const r = element.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;
            return element.contains(document.elementFromPoint(x, y)) ? [x, y] : null;
        }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def type(self, selector: str, text: str) -> None:
        """Click into an element and type."""
        self.click(selector)
        self.command("Input.insertText", text=text)

    def resize(self, width: int, height: int, scale: float = 1.0) -> None:
        """Give the tab another size in CSS pixels."""
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )

    def screenshot(self, path: Path) -> None:
        """Save what the tab shows as PNG."""
        answer = self.command("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(answer["data"]))

    def close(self) -> None:
        """Close the tab."""
        self.command("Page.close")
        self.disconnect()

    def disconnect(self) -> None:
        """Disconnect from the tab, which stays open."""
        self._open.close()

    def _note(self, message: dict[str, Any]) -> None:
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requested.append(message["params"]["request"]["url"])
            case "Network.webSocketCreated":
                self.requested.append(message["params"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(str(message["params"]["exceptionDetails"])[:1000])
            case "Runtime.consoleAPICalled" if message["params"]["type"] == "error":
                self.complaints.append(str([part.get("value") for part in message["params"]["args"]])[:1000])


def main() -> int:
    """Say where Chromium is, or what to do; never a reason for a test run to fail."""
    if find_chromium() is None and shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        print("Installing Chromium for the tests of the dashboard (apt-get install chromium) ...", flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.call(["apt-get", "-qq", *command], env=environment, stdout=subprocess.DEVNULL)
    program = find_chromium()
    print(f"Chromium: {program}" if program else f"{MISSING} The tests of the dashboard are skipped.", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
