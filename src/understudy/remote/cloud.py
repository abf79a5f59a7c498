"""Buckets of S3 and compatible servers, Google Cloud and Azure. The only module that imports obstore.

Credentials come from the environment (AWS_ACCESS_KEY_ID, GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_KEY …),
from the files that the providers' own tools write, or from the machine's role. They are never stored or shown here.
"""

from __future__ import annotations

import configparser
import json
import os
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotFoundError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
    UnknownConfigurationKeyError,
)
from obstore.store import from_url

from understudy.errors import RemoteError, SettingsError
from understudy.remote.objects import Entry, Found, TooLarge, checked_key

T = TypeVar("T")
_NOT_FOUND = (NotFoundError, FileNotFoundError)
_TIMEOUT = "30s"
_CONNECT = "10s"
_ENDPOINTS = {
    "s3": (),  # in the configuration
    "gs": ("GOOGLE_BASE_URL",),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT", "AZURITE_BLOB_STORAGE_URL"),
}
_CREDENTIALS = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write ~/.aws/credentials",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS, or log in with gcloud",
    "az": "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or log in with az",
}
_METADATA = ("169.254.169.254", "169.254.170.2", "metadata.google.internal")  # servers that provide a machine's role
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound")
_CLOCK = ("RequestTimeTooSkewed", "RequestExpired")
_AWS_KEYS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token", "region", "endpoint_url")


def open_cloud(url: str) -> CloudStore:
    """The bucket at a URL."""
    config: dict[str, Any] = {}
    if url.lower().startswith("s3"):
        config = _aws_files()
        if os.environ.get("AWS_ENDPOINT_URL"):
            config["endpoint"] = os.environ["AWS_ENDPOINT_URL"]
    for address in _addresses(url, config):
        if not address.lower().startswith(("http://", "https://")):
            raise SettingsError(f"The address of the server of {url} is {address!r}: it must begin with https://.")
    options = {"timeout": _TIMEOUT, "connect_timeout": _CONNECT, "allow_http": _without_tls(url, config)}
    try:
        # Bucket makes and counts retries, because it knows how to treat repeated conditional writes.
        retries: Any = {"max_retries": 0, "retry_timeout": timedelta(seconds=30)}
        store = from_url(url, config=config or None, client_options=options, retry_config=retries)  # type: ignore[call-overload]
    except (BaseError, UnknownConfigurationKeyError, ValueError) as error:
        raise SettingsError(f"The bucket {url} cannot be used: {_brief(error)}") from None
    return CloudStore(store, url)


class CloudStore:
    """One bucket, or a part of it."""

    def __init__(self, store: Any, url: str) -> None:
        self._store = store
        self._url = url

    def __str__(self) -> str:
        return self._url

    def get(self, key: str, most: int) -> Found | None:
        """See Store."""

        def load() -> Found:
            result = obstore.get(self._store, checked_key(key))
            if result.meta["size"] > most:
                raise TooLarge(key, result.meta["size"], most)
            return Found(bytes(result.bytes()), _tag(result.meta))

        try:
            return self._call(load)
        except FileNotFoundError:
            return None

    def put(self, key: str, data: bytes) -> None:
        """See Store."""
        self._call(lambda: obstore.put(self._store, checked_key(key), data))

    def create(self, key: str, data: bytes) -> bool:
        """See Store."""
        try:
            self._call(lambda: obstore.put(self._store, checked_key(key), data, mode="create"))
        except (AlreadyExistsError, PreconditionError):
            return False
        return True

    def replace(self, key: str, data: bytes, tag: str) -> bool:
        """See Store."""
        try:
            self._call(lambda: obstore.put(self._store, checked_key(key), data, mode=json.loads(tag)))
        except (PreconditionError, AlreadyExistsError, FileNotFoundError):
            return False
        return True

    def list(self, prefix: str, after: str) -> Iterator[Entry]:
        """See Store."""
        pages = self._call(lambda: obstore.list(self._store, prefix.rstrip("/"), offset=after or None, chunk_size=1000))
        while (page := self._call(lambda: next(pages, None))) is not None:
            for meta in page:
                if meta["path"] > after:  # a server may ignore the parameter: Azurite starts from the beginning
                    yield Entry(meta["path"], meta["size"], _tag(meta))

    def delete(self, key: str) -> None:
        """See Store."""
        try:
            self._call(lambda: obstore.delete(self._store, checked_key(key)))
        except FileNotFoundError:
            return

    def _call(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except (AlreadyExistsError, PreconditionError):
            raise
        except (BaseError, FileNotFoundError) as error:
            raise _translated(error, self._url) from None


def _translated(error: Exception, url: str) -> Exception:
    """Translate an error: the object does not exist, the store refuses, or (OSError) a retry may help."""
    text, brief = str(error), _brief(error)
    if any(code in text for code in _NO_BUCKET):
        return RemoteError(f"There is no bucket for {url}. Create it, or correct the name.")
    if any(code in text for code in _CLOCK):
        return RemoteError(
            f"The bucket {url} refuses requests because of their time: set the clock of this machine. {brief}"
        )
    if isinstance(error, _NOT_FOUND):
        return FileNotFoundError(brief)
    how = _CREDENTIALS[url[:2].lower()]
    if any(server in text for server in _METADATA):
        return OSError(f"there are no credentials: {how}. Nor does this machine have a role: {brief}")
    if isinstance(error, (PermissionDeniedError, UnauthenticatedError)) or re.search(r"status code: 40[13]\b", text):
        return RemoteError(f"The bucket {url} refuses access. Check the credentials: {how}. {brief}")
    return OSError(brief)


def _addresses(url: str, config: dict[str, Any]) -> list[str]:
    """The servers that the user configured."""
    named = (config.get("endpoint", ""), *(os.environ.get(name, "") for name in _ENDPOINTS[url[:2].lower()]))
    return [str(address) for address in named if address]


def _without_tls(url: str, config: dict[str, Any]) -> bool:
    """TLS is omitted only for a server that the user configured with an http:// address."""
    return any(address.lower().startswith("http://") for address in _addresses(url, config))


def _tag(meta: Any) -> str:
    """Stores differ in which of the two tags they compare."""
    return json.dumps({name: meta[name] for name in ("e_tag", "version") if meta.get(name)})


def _brief(error: Exception) -> str:
    """The server's message, else obstore's, without its source, headers and keys."""
    text = " ".join(str(error).partition("Debug source")[0].split())
    code, message = (re.search(f"<{tag}>([^<]*)</{tag}>", text) for tag in ("Code", "Message"))
    if code is not None:
        return f"{code[1]}: {message[1]}"[:300] if message is not None else code[1]
    return re.split(r" in [\d.]+(?:ns|µs|ms|s) - ", text)[-1][:300]


def _aws_files() -> dict[str, Any]:
    """The settings of the profile in use, from ~/.aws/config and ~/.aws/credentials; the environment overrides them."""
    profile = os.environ.get("AWS_PROFILE", "default")
    found: dict[str, Any] = {}
    known = False
    for variable, default, section in (
        ("AWS_CONFIG_FILE", "config", profile if profile == "default" else f"profile {profile}"),
        ("AWS_SHARED_CREDENTIALS_FILE", "credentials", profile),
    ):
        parser = configparser.ConfigParser(interpolation=None)
        try:
            parser.read(Path(os.environ.get(variable) or Path.home() / ".aws" / default), encoding="utf-8")
        except configparser.Error as error:
            raise SettingsError(f"The AWS file {default} cannot be read: {type(error).__name__}.") from None
        known |= parser.has_section(section)
        if parser.has_section(section):
            found |= {name: parser[section][name] for name in _AWS_KEYS if name in parser[section]}
    if "AWS_PROFILE" in os.environ and not known and "AWS_ACCESS_KEY_ID" not in os.environ:
        raise SettingsError(f"AWS_PROFILE is {profile!r}; neither of the AWS files has such a profile.")
    if "AWS_ACCESS_KEY_ID" in os.environ:
        found = {name: value for name, value in found.items() if name in ("region", "endpoint_url")}
    if "AWS_REGION" in os.environ or "AWS_DEFAULT_REGION" in os.environ:
        found.pop("region", None)
    if "endpoint_url" in found:
        found["endpoint"] = found.pop("endpoint_url")
    return found
