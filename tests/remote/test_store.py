"""All stores keep the same promises."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from understudy.errors import RemoteError, SettingsError
from understudy.remote.bucket import Bucket
from understudy.remote.folder import FolderStore
from understudy.remote.objects import Store, TooLarge, checked_key
from understudy.remote.store import open_store


@pytest.mark.slow
def test_create_writes_once(store: Store) -> None:
    assert store.create("games/a/1.npz", b"first")
    assert not store.create("games/a/1.npz", b"second")
    found = store.get("games/a/1.npz", 100)
    assert found is not None
    assert found.data == b"first"


def test_replace_needs_the_object_that_was_read(store: Store) -> None:
    store.create("head.json", b"1")
    first = store.get("head.json", 100)
    assert first is not None
    assert store.replace("head.json", b"2", first.tag)
    assert not store.replace("head.json", b"3", first.tag)
    second = store.get("head.json", 100)
    assert second is not None
    assert second.data == b"2"
    store.delete("head.json")
    assert not store.replace("head.json", b"3", second.tag)
    assert store.get("head.json", 100) is None


def test_put_replaces_whatever_is_there(store: Store) -> None:
    store.put("machines/a.json", b"1")
    store.put("machines/a.json", b"22")
    found = store.get("machines/a.json", 100)
    assert found is not None
    assert found.data == b"22"


def test_listing_goes_on_after_a_key_and_stays_within_its_folder(store: Store) -> None:
    keys = [
        "games/a/2026-01-01/0001.npz",
        "games/a/2026-01-01/0002.npz",
        "games/a/2026-01-02/0003.npz",
        "games/a-b/2026-01-01/0001.npz",
        "games/ab/1.npz",
    ]
    for key in keys:
        store.put(key, b"x" * len(key))
    listed = list(store.list("games/a/", ""))
    assert [entry.key for entry in listed] == keys[:3]
    assert [entry.size for entry in listed] == [len(key) for key in keys[:3]]
    assert [entry.key for entry in store.list("games/a/", keys[0])] == keys[1:3]
    assert [entry.key for entry in store.list("games/a/", "games/a/2026-01-01/9")] == keys[2:3]
    assert list(store.list("games/a/", keys[2])) == []
    assert list(store.list("nothing/", "")) == []


def test_a_server_that_lists_from_the_beginning_whatever_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    obstore = pytest.importorskip("obstore")
    from understudy.remote.cloud import CloudStore  # noqa: PLC0415 - needs the extra `remote`

    listing = obstore.list
    monkeypatch.setattr(obstore, "list", lambda store, prefix, **_: listing(store, prefix))
    store = CloudStore(obstore.store.MemoryStore(), "az://a")
    for key in ("games/1", "games/2", "games/3"):
        store.put(key, b"1")
    assert [entry.key for entry in store.list("games/", "games/1")] == ["games/2", "games/3"]


def test_listing_shows_that_an_object_has_changed(store: Store) -> None:
    store.put("machines/a.json", b"1")
    (before,) = store.list("machines/", "")
    store.put("machines/a.json", b"2")
    (after,) = store.list("machines/", "")
    assert before.tag != after.tag


def test_size_is_checked_before_the_object_is_loaded(store: Store) -> None:
    store.put("big", b"x" * 1000)
    with pytest.raises(TooLarge, match="1,000 bytes; the limit is 999"):
        store.get("big", 999)
    assert store.get("big", 1000) is not None


def test_deleting_what_is_not_there_is_no_error(store: Store) -> None:
    store.delete("games/none")
    assert store.get("games/none", 1000) is None


@pytest.mark.parametrize("key", ["", "../x", "a/../b", "/a", "a//b", ".hidden", "a/.hidden", "a b", "a\\b", "c:/x"])
def test_keys_stay_within_the_store(key: str) -> None:
    with pytest.raises(ValueError, match="is not a valid key"):
        checked_key(key)


@pytest.mark.parametrize("url", ["s3://user:secret@bucket/x", "az://a/b?sig=abc", "ftp://host/x"])
def test_urls_that_are_refused_and_do_not_show_their_secret(url: str) -> None:
    with pytest.raises(SettingsError) as caught:
        open_store(url)
    assert "secret" not in str(caught.value)
    assert "abc" not in str(caught.value)


def test_a_file_url_is_a_folder(tmp_path: Path) -> None:
    open_store((tmp_path / "a b").as_uri()).put("x", b"1")
    assert (tmp_path / "a b" / "x").read_bytes() == b"1"


def test_a_folder_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: Any, **__: Any) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", no_links)
    store = FolderStore(tmp_path)
    assert store.create("a", b"1")
    assert not store.create("a", b"2")
    assert [entry.key for entry in store.list("", "")] == ["a"]


def _contend(url: str, number: int, results: Any) -> None:
    bucket = Bucket(url)
    won = sum(bucket.create(f"claims/{i}", f"{number}-{i}".encode()) for i in range(30))
    for _ in range(30):
        while True:
            found = bucket.get("count", 100)
            assert found is not None
            if bucket.replace("count", str(int(found.data) + 1).encode(), found.tag):
                break
    results.put(won)


@pytest.mark.slow
def test_processes_that_compete_lose_nothing(url: str) -> None:
    Bucket(url).create("count", b"0")
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    processes = [context.Process(target=_contend, args=(url, n, results)) for n in range(3)]
    for process in processes:
        process.start()
    won = sum(results.get(timeout=60) for _ in processes)
    for process in processes:
        process.join()
    assert won == 30
    found = Bucket(url).get("count", 100)
    assert found is not None
    assert int(found.data) == 90


def test_credentials_come_from_the_usual_file(s3_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name)
    (tmp_path / "credentials").write_text("[home]\naws_access_key_id = mine\naws_secret_access_key = hidden\n")
    (tmp_path / "config").write_text("[profile home]\nregion = us-east-1\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "home")
    store = open_store(s3_url)
    store.put("a", b"1")
    assert "hidden" not in f"{store} {store!r}"


@pytest.mark.parametrize(("url", "variable"), [("az://a/b", "AZURE_STORAGE_ENDPOINT"), ("gs://a/b", "GOOGLE_BASE_URL")])
@pytest.mark.parametrize(("scheme", "spoken"), [("http", True), ("https", False)])
def test_only_a_server_named_by_http_is_spoken_to_without_tls(
    url: str, variable: str, scheme: str, spoken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore")
    account = {"disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
    (tmp_path / "account.json").write_text(json.dumps(account))
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(tmp_path / "account.json"))
    for name, value in (("AZURE_STORAGE_ACCOUNT_NAME", "a"), ("AZURE_SKIP_SIGNATURE", "true")):
        monkeypatch.setenv(name, value)
    with _Listener() as listener:
        monkeypatch.setenv(variable, f"{scheme}://127.0.0.1:{listener.port}/a")
        with pytest.raises(OSError, match=r".") as caught:
            open_store(url).put("key", b"1")
    assert listener.first.startswith(b"PUT ") is spoken, caught.value


class _Listener:
    """Takes one connection, keeps its first bytes, and hangs up."""

    def __enter__(self) -> _Listener:
        self.first = b""
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(10.0)
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._take)
        self._thread.start()
        return self

    def _take(self) -> None:
        with self._socket.accept()[0] as connection:
            self.first = connection.recv(1000)

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        self._socket.close()


def test_a_bucket_that_is_not_there(s3_url: str) -> None:
    bucket = Bucket(s3_url.replace("understudy", "missing"), patience=0.1)
    with pytest.raises(RemoteError):
        bucket.put("a", b"1")
