"""The object store at a URL.

folder, file:///folder    a folder that all machines can reach                  (remote/folder.py)
s3://  gs://  az://       a bucket, through obstore and the extra `remote`      (remote/cloud.py)
memory://name             within one process, for tests                         (remote/memory.py)
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from understudy.errors import SettingsError
from understudy.remote.folder import FolderStore
from understudy.remote.memory import memory_store
from understudy.remote.objects import Store
from understudy.rundir import RunDir

_CLOUDS = ("s3", "gs", "az")


def open_store(url: str) -> Store:
    """The store at a URL or in a folder; SettingsError if the URL is not understood."""
    if not url:
        raise SettingsError("The name of the bucket is empty. Name a folder, or a bucket such as s3://BUCKET/PREFIX.")
    if "://" not in url:
        return _folder(Path(url), url)
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query:
        raise SettingsError(
            "The URL of a bucket must not hold a user name, a password or a key: it is shown in logs. "
            "Credentials come from the environment, or from the usual files of the provider."
        )
    scheme = parts.scheme.lower()
    if scheme == "file":
        host = parts.netloc if parts.netloc.lower() != "localhost" else ""
        return _folder(Path(url2pathname(f"//{host}{parts.path}" if host else parts.path)), url)
    if scheme == "memory":
        return memory_store(parts.netloc)
    if scheme in _CLOUDS and not parts.netloc:
        raise SettingsError(f"{url!r} does not name a bucket: write {scheme}://BUCKET/PREFIX.")
    if scheme in _CLOUDS:
        from understudy.remote.cloud import open_cloud  # noqa: PLC0415 - needs the extra `remote`

        return open_cloud(url)
    known = ", ".join(f"{cloud}://" for cloud in _CLOUDS)
    raise SettingsError(f"{url!r} is not an object store. Known: a folder, file://, {known}.")


def _folder(folder: Path, given: str) -> FolderStore:
    """The store in a folder, which is created; its parent folder must exist."""
    if (scheme := given.partition(":")[0]) in _CLOUDS and not folder.exists():
        raise SettingsError(f"{given!r} is not an object store: a bucket is written {scheme}://BUCKET/PREFIX.")
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file. Name a folder, or a bucket such as s3://BUCKET/PREFIX.")
    if folder.exists() and RunDir.at(folder).ledger.exists():
        raise SettingsError(f"{folder} is a run directory. Name another folder for the shared objects.")
    if not folder.absolute().parent.is_dir():
        raise SettingsError(f"There is no folder {folder.absolute().parent}. Is it mounted, and the name right?")
    return FolderStore(folder.absolute())
