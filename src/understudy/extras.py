"""Which extra provides a missing library, and the command that installs it."""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from urllib.parse import urlsplit
from urllib.request import url2pathname

# Libraries whose import name differs from the name to install, or that come with another one.
_DISTRIBUTIONS = {
    **dict.fromkeys(("sc2", "s2clientprotocol", "google", "loguru", "aiohttp", "mpyq", "portpicker"), "burnysc2"),
    **dict.fromkeys(("uvicorn", "fastapi", "starlette"), "nicegui"),
    "pynvml": "nvidia-ml-py",
}
_EXTRA = re.compile(r"^([A-Za-z0-9._-]+).*;\s*extra\s*==\s*['\"]([a-z0-9_-]+)['\"]")
_OF_MANY = ("dev", "bench")  # extras that contain other extras


def how_to_install(library: str) -> str:
    """A sentence with the command that installs this library for the current Python."""
    library = library.partition(".")[0]
    wanted = _DISTRIBUTIONS.get(library) or library.replace("_", "-").lower()
    try:
        ours = distribution("understudy")
    except PackageNotFoundError:  # the sources are on the path without being installed, as in a ladder zip
        return f"Install it: {_pip()} {wanted}"
    found = [_EXTRA.match(requirement) for requirement in ours.requires or ()]
    extras = [match[2] for match in found if match and match[1].lower() == wanted]
    if not extras:
        return f"Install it: {_pip()} {wanted}"
    extra = min(extras, key=lambda name: (name in _OF_MANY, sum(1 for m in found if m and m[2] == name)))
    folder = _source_folder(ours)
    target = f"'understudy[{extra}]'" if folder is None else f"-e '{folder}[{extra}]'"
    return f"Install it: {_pip()} {target}"


def _pip() -> str:
    return f"{sys.executable} -m pip install"


def _source_folder(ours: Distribution) -> str | None:
    """The folder of the sources, if they were installed with `pip install -e`."""
    origin = json.loads(ours.read_text("direct_url.json") or "{}")
    return url2pathname(urlsplit(origin["url"]).path) if origin.get("dir_info", {}).get("editable") else None
