from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from game_files import make_episode
from understudy.errors import EpisodeError
from understudy.experience.episode import (
    Episode,
    EpisodeMeta,
    Expected,
    episode_from,
    features_hash,
    file_name,
    new_episode_id,
    read_episode,
    write_episode,
)
from understudy.settings import StorageSettings

LIMITS = StorageSettings()
STEPS, FEATURES, ACTIONS = 10, 4, 3


def arrays(**changes: Any) -> dict[str, Any]:
    """A sound game, with some arrays replaced, or left out where None."""
    rng = np.random.default_rng(1)
    whole: dict[str, Any] = {
        "states": rng.normal(size=(STEPS, FEATURES)).astype(np.float32),
        "actions": rng.integers(0, ACTIONS, STEPS),
        "rewards": rng.normal(size=STEPS).astype(np.float32),
        "log_probs": -rng.random(STEPS).astype(np.float32),
        "values": rng.normal(size=STEPS).astype(np.float32),
        "legal": np.ones((STEPS, ACTIONS), bool),
        "trial": np.arange(STEPS) % 2 == 0,
        "final_state": rng.normal(size=FEATURES).astype(np.float32),
    }
    return {name: array for name, array in (whole | changes).items() if array is not None}


def meta(**changes: Any) -> EpisodeMeta:
    whole: dict[str, Any] = {
        "game": "zerg",
        "map": "Acropolis LE",
        "opponent_id": "abc-1",
        "opponent_race": "Protoss",
        "result": "Victory",
        "truncated": True,
        "model_version": 7,
        "features_hash": features_hash(["a", "b"]),
        "actions": ("ECONOMY", "TECH", "ALL_IN"),
        "seed": 3,
        "started_at": 1769347000.25,
        "ended_at": 1769347822.5,
        "trained_online": True,
        "extra": {"note": "é", "nested": {"x": [1, None]}},
    }
    return EpisodeMeta(**whole | changes)


def game(**changes: Any) -> Episode:
    return Episode(**arrays(**changes), meta=meta())


def assert_same(found: Episode, expected: Episode) -> None:
    for field in dataclasses.fields(Episode):
        one, other = getattr(found, field.name), getattr(expected, field.name)
        if isinstance(other, np.ndarray):
            assert one.dtype == other.dtype, field.name
            assert np.array_equal(one, other), field.name
        else:
            assert one == other, field.name


@pytest.mark.parametrize("compress", [False, True])
def test_a_game_comes_back_from_disk_as_it_was(tmp_path: Path, compress: bool) -> None:
    path = tmp_path / file_name(meta())
    write_episode(path, game(), compress=compress)
    assert_same(read_episode(path, LIMITS), game_with_id(path))
    assert list(tmp_path.iterdir()) == [path]


def game_with_id(path: Path) -> Episode:
    episode = game()
    return dataclasses.replace(episode, meta=dataclasses.replace(episode.meta, id=read_episode(path, LIMITS).meta.id))


def test_the_file_is_what_the_disk_contract_says(tmp_path: Path) -> None:
    episode = game()
    write_episode(tmp_path / "x.npz", episode, compress=True)
    with np.load(tmp_path / "x.npz", allow_pickle=False) as file:
        types = {name: array.dtype.str for name, array in file.items() if name != "meta"}
        content = json.loads(file["meta"].item())
    floats = dict.fromkeys(("states", "rewards", "log_probs", "values", "final_state"), "<f4")
    assert types == floats | {"actions": "<i8", "legal": "|b1", "trial": "|b1"}
    assert content["schema"] == 1
    assert content["id"] == episode.meta.id
    assert content["actions"] == ["ECONOMY", "TECH", "ALL_IN"]
    assert content["note"] == "é"


def test_optional_arrays_stay_away(tmp_path: Path) -> None:
    bare = Episode(**arrays(log_probs=None, values=None, legal=None, final_state=None, trial=None))
    write_episode(tmp_path / "x.npz", bare, compress=False)
    found = read_episode(tmp_path / "x.npz", LIMITS)
    for absent in (found.log_probs, found.values, found.legal, found.final_state, found.trial):
        assert absent is None
    assert found.meta.id == bare.meta.id
    assert len(found) == STEPS
    assert found.nbytes == STEPS * (4 * FEATURES + 8 + 4)


def test_three_arrays_alone_are_a_game_named_by_its_bytes(tmp_path: Path) -> None:
    data = arrays()
    path = tmp_path / "game_20260125_143022_Defeat_old.npz"
    np.savez(path, states=data["states"], actions=data["actions"], rewards=data["rewards"])
    found = read_episode(path, LIMITS)
    assert found.meta.id == "sha-" + hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
    assert found.meta.result == "Defeat"
    assert found.meta.ended_at == time.mktime((2026, 1, 25, 14, 30, 22, 0, 0, -1))
    assert found.meta.started_at == found.meta.ended_at
    assert not found.meta.truncated
    other = path.rename(tmp_path / "whatever.npz")
    os.utime(other, (1_700_000_000, 1_700_000_000))
    again = read_episode(other, LIMITS)
    assert again.meta.id == found.meta.id
    assert again.meta.result == "Unknown"
    assert again.meta.ended_at == 1_700_000_000


def test_a_name_with_an_impossible_date_is_dated_by_the_file(tmp_path: Path) -> None:
    data = arrays()
    path = tmp_path / "game_20269925_143022_Tie.npz"
    np.savez(path, states=data["states"], actions=data["actions"], rewards=data["rewards"])
    os.utime(path, (1_700_000_000, 1_700_000_000))
    found = read_episode(path, LIMITS)
    assert (found.meta.result, found.meta.ended_at) == ("Tie", 1_700_000_000)


def test_a_final_state_without_meta_means_that_the_game_was_cut(tmp_path: Path) -> None:
    data = arrays()
    np.savez(tmp_path / "x.npz", **data)
    assert read_episode(tmp_path / "x.npz", LIMITS).meta.truncated


def test_unknown_keys_of_meta_survive_a_round_trip(tmp_path: Path) -> None:
    odd = meta(extra={"extra": {"a": 1}, "later": [1.5, "x"]})
    write_episode(tmp_path / "x.npz", Episode(**arrays(), meta=odd), compress=True)
    assert read_episode(tmp_path / "x.npz", LIMITS).meta == odd


def test_file_names_tell_the_end_in_local_time_the_result_and_the_id() -> None:
    ended_at = time.mktime((2026, 1, 25, 14, 30, 22, 0, 0, -1))
    assert file_name(meta(ended_at=ended_at, id="ab12")) == "game_20260125_143022_Victory_ab12.npz"
    assert "_No-Result-_" in file_name(meta(result="No_Result/..\\"))
    assert "_Unknown_" in file_name(meta(result=""))


def test_ids_differ_in_spite_of_equal_seeds() -> None:
    code = (
        "import random, numpy; random.seed(1); numpy.random.seed(1)\n"
        "from understudy.experience.episode import new_episode_id; print(new_episode_id())"
    )
    ids = {subprocess.check_output([sys.executable, "-c", code], text=True).strip() for _ in range(2)}
    ids |= {new_episode_id() for _ in range(1000)}
    assert len(ids) == 1002
    assert all(len(name) == 16 and int(name, 16) >= 0 for name in ids)


def test_the_features_hash_tells_order_names_and_boundaries() -> None:
    assert features_hash(["a", "b"]) == features_hash(("a", "b"))
    different = [features_hash(names) for names in (["a", "b"], ["b", "a"], ["ab"], ["a", "b", ""], [])]
    assert len(set(different)) == 5
    assert all(len(text) == 16 for text in different)


def with_value(name: str, index: Any, value: Any, dtype: Any = None) -> dict[str, NDArray[Any]]:
    array = np.array(arrays()[name], dtype)
    array[index] = value
    return {name: array}


NONE_LEGAL = with_value("legal", 4, False)
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no rewards": ({"rewards": None}, "rewards missing"),
    "short rewards": (
        {"rewards": np.zeros(9, np.float32)},
        "rewards has 9 entries, states has 10: every decision needs exactly one reward",
    ),
    "long actions": ({"actions": np.zeros(11, int)}, "actions has 11 entries, states has 10"),
    "short log_probs": ({"log_probs": np.zeros(1)}, "log_probs has 1 entries"),
    "short values": ({"values": np.zeros(0)}, "values has 0 entries"),
    "column of actions": ({"actions": np.zeros((10, 1), int)}, r"actions has shape \(10, 1\)"),
    "scalar reward": ({"rewards": np.array(1.0)}, r"rewards has shape \(\)"),
    "flat states": ({"states": np.zeros(10)}, r"states has shape \(10,\)"),
    "no decisions": ({"states": np.zeros((0, 4))}, r"states has shape \(0, 4\)"),
    "no features": ({"states": np.zeros((10, 0))}, r"states has shape \(10, 0\)"),
    "flat legal": ({"legal": np.ones(10, bool)}, r"legal has shape \(10,\)"),
    "short trial": ({"trial": np.ones(9, bool)}, "trial has 9 entries, states has 10"),
    "fractional trial": ({"trial": np.full(10, 0.5)}, "trial has dtype float64"),
    "short legal": ({"legal": np.ones((9, 3), bool)}, r"legal has shape \(9, 3\)"),
    "final state": ({"final_state": np.zeros(5)}, r"final_state has shape \(5,\); states have 4"),
    "float actions": ({"actions": np.zeros(10)}, "actions has dtype float64"),
    "bool actions": ({"actions": np.zeros(10, bool)}, "actions has dtype bool"),
    "text states": ({"states": np.full((10, 4), "x")}, "states has dtype <U1"),
    "complex rewards": ({"rewards": np.zeros(10, complex)}, "rewards has dtype complex128"),
    "float legal": ({"legal": np.ones((10, 3))}, "legal has dtype float64"),
    "legal of two": ({"legal": np.full((10, 3), 2)}, "only 0 and 1"),
    "nan state": (with_value("states", (3, 1), np.nan), "states is not finite in float32, first in row 3"),
    "too large for float32": (with_value("states", (2, 0), 1e300, np.float64), "states is not finite in float32"),
    "inexact in float32": (with_value("states", (2, 0), 2**24 + 1, np.int64), "float32 cannot hold exactly"),
    "infinite reward": (with_value("rewards", 5, np.inf), "rewards is not finite"),
    "impossible log_prob": (with_value("log_probs", 5, -np.inf), "log_probs is not finite"),
    "positive log_prob": (with_value("log_probs", 5, 0.5), "log_probs reaches 0.5"),
    "nan value": (with_value("values", 5, np.nan), "values is not finite"),
    "nan final state": (with_value("final_state", 1, np.nan), "final_state is not finite"),
    "negative action": (with_value("actions", 5, -1), "actions holds -1"),
    "action beyond the labels": (
        {**with_value("actions", 5, 3), "legal": None},
        "actions holds 3; there are 3 actions",
    ),
    "action beyond int64": (with_value("actions", 5, 2**63, np.uint64), "9223372036854775808, which int64 cannot"),
    "illegal action": (with_value("legal", (4, arrays()["actions"][4]), False), r"decision 4: action \d is illegal"),
    "nothing legal": (NONE_LEGAL, "decision 4: no action is legal there"),
    "labels and mask differ": (
        {"legal": np.ones((10, 5), bool)},
        "5 according to legal, 3 according to the action labels",
    ),
}


@pytest.mark.parametrize(("changes", "reason"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_game_is_refused_alike_when_written_and_when_read(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    wrong = arrays(**changes)
    with pytest.raises(EpisodeError, match=reason):
        episode_from(wrong | {"meta": meta()})
    if "rewards" in wrong:
        with pytest.raises(EpisodeError, match=reason):
            write_episode(tmp_path / "x.npz", Episode(**wrong, meta=meta()), compress=False)
    assert list(tmp_path.iterdir()) == []
    if "complex" not in reason:
        np.savez(tmp_path / "x.npz", **wrong, meta=np.array(meta().to_json()))
        with pytest.raises(EpisodeError, match=r"x\.npz: .*" + reason):
            read_episode(tmp_path / "x.npz", LIMITS)


def test_numbers_of_other_types_are_taken_where_nothing_is_lost() -> None:
    given = arrays(
        states=np.full((STEPS, FEATURES), 0.1),
        actions=np.ones(STEPS, np.uint8),
        rewards=np.arange(STEPS),
        legal=np.ones((STEPS, ACTIONS), np.int64),
        log_probs=np.full(STEPS, 1e-6),
    )
    episode = episode_from(given)
    assert episode.states.dtype == episode.rewards.dtype == np.float32
    assert episode.states[0, 0] == np.float32(0.1)
    assert episode.actions.dtype == np.int64
    assert episode.legal is not None
    assert episode.legal.dtype == np.bool_
    assert episode.rewards.tolist() == list(range(STEPS))


def test_a_game_for_another_model_is_refused_and_both_sides_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    write_episode(path, game(), compress=False)
    recorded = features_hash(["a", "b"])
    assert len(read_episode(path, LIMITS, Expected(FEATURES, ACTIONS, recorded))) == STEPS
    assert len(read_episode(path, LIMITS, Expected(FEATURES, ACTIONS))) == STEPS
    other = features_hash(["a", "c"])
    with pytest.raises(EpisodeError, match=f"features_hash {recorded} in the file, {other} in the model"):
        read_episode(path, LIMITS, Expected(FEATURES, ACTIONS, other))
    with pytest.raises(EpisodeError, match="states has 4 features, the model 5"):
        read_episode(path, LIMITS, Expected(5, ACTIONS))
    with pytest.raises(EpisodeError, match="4 according to the model, 3 according to legal"):
        read_episode(path, LIMITS, Expected(FEATURES, 4))


def test_the_model_bounds_the_actions_of_a_file_that_does_not(tmp_path: Path) -> None:
    data = arrays(actions=np.full(STEPS, 5))
    np.savez(tmp_path / "x.npz", states=data["states"], actions=data["actions"], rewards=data["rewards"])
    assert len(read_episode(tmp_path / "x.npz", LIMITS, Expected(FEATURES, 6, "anything"))) == STEPS
    with pytest.raises(EpisodeError, match="actions holds 5; there are 5 actions"):
        read_episode(tmp_path / "x.npz", LIMITS, Expected(FEATURES, 5))


def test_limits_are_met_before_memory_is(tmp_path: Path) -> None:
    steps = 100_000
    np.savez_compressed(
        tmp_path / "x.npz",
        states=np.zeros((steps, 50), np.float32),
        actions=np.zeros(steps, int),
        rewards=np.zeros(steps),
    )
    tracemalloc.start()
    with pytest.raises(EpisodeError, match="100,000 decisions; the limit is 99,999"):
        read_episode(tmp_path / "x.npz", StorageSettings(episode_steps=99_999))
    with pytest.raises(EpisodeError, match=r"expands to 21,600,.* bytes; the limit is 20,000,000 bytes"):
        read_episode(tmp_path / "x.npz", StorageSettings(episode_bytes=20_000_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    assert len(read_episode(tmp_path / "x.npz", LIMITS)) == steps


WRONG_META: dict[str, tuple[Any, str]] = {
    "no JSON": ("hello", "meta is not JSON"),
    "a list": ("[1]", "meta is not a JSON object"),
    "a number": (5, "meta is not a JSON object"),
    "many": (["{}", "{}"], "meta is not JSON"),
    "deep": ("[" * 100_000, "meta is not JSON"),
    "NaN": ('{"x": NaN}', "NaN is not a JSON number"),
    "long": ('{"x": "' + "y" * 1_000_000 + '"}', "at most 1,000,000 characters"),
    "newer": ('{"schema": 2}', "schema is 2, this version reads 1: upgrade"),
    "path as id": ('{"id": "../../x"}', "id in meta is '../../x'"),
    "number as id": ('{"id": 5}', "id in meta is '5'; it must be text"),
    "result": ('{"result": null}', "result in meta"),
    "truncated": ('{"truncated": 1}', "truncated in meta"),
    "version": ('{"model_version": 1.5}', "model_version in meta"),
    "true version": ('{"model_version": true}', "model_version in meta"),
    "hash": ('{"features_hash": 1}', "features_hash in meta"),
    "labels": ('{"actions": [1, 2]}', "actions in meta"),
    "no labels": ('{"actions": []}', "actions in meta"),
    "time": ('{"ended_at": 1e300}', "ended_at in meta"),
    "negative time": ('{"ended_at": -5}', "ended_at in meta"),
    "text time": ('{"started_at": "now"}', "started_at in meta"),
    "bytes": (b"\xff\xfe\xfd", "meta is not JSON"),
}


@pytest.mark.parametrize(("content", "reason"), WRONG_META.values(), ids=WRONG_META.keys())
def test_a_wrong_meta_is_refused(tmp_path: Path, content: Any, reason: str) -> None:
    np.savez(tmp_path / "x.npz", **arrays(), meta=np.array(content))
    with pytest.raises(EpisodeError, match=r"x\.npz: .*" + reason):
        read_episode(tmp_path / "x.npz", LIMITS)


def test_text_that_is_no_unicode_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", **arrays(), meta=np.array([0x7FFFFFFF], np.uint32).view("U1").reshape(()))
    with pytest.raises(EpisodeError, match="text that is not valid Unicode"):
        read_episode(tmp_path / "x.npz", LIMITS)


@pytest.mark.parametrize("extra", [{"x": object()}, {"x": float("nan")}, {"id": "other"}])
def test_a_meta_that_json_cannot_hold_is_refused(extra: dict[str, Any]) -> None:
    with pytest.raises(EpisodeError, match="meta"):
        meta(extra=extra).to_json()


def test_episodes_dicts_and_open_files_all_become_episodes(tmp_path: Path) -> None:
    episode = game()
    assert_same(episode_from(episode), episode)
    assert_same(episode_from(arrays() | {"meta": episode.meta}), episode)
    assert_same(episode_from(arrays() | {"meta": json.loads(episode.meta.to_json())}), episode)
    write_episode(tmp_path / "x.npz", episode, compress=True)
    with np.load(tmp_path / "x.npz") as file:
        assert_same(episode_from(file), episode)
    lists = {name: array.tolist() for name, array in arrays().items()}
    assert episode_from(lists).meta.result == "Unknown"
    assert episode_from(lists).meta.id != episode_from(lists).meta.id


def test_what_is_no_game_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EpisodeError, match="not int"):
        episode_from(5)  # type: ignore[arg-type]
    with pytest.raises(EpisodeError, match="cannot be read"):
        episode_from(arrays(rewards=[[1.0], [1.0, 2.0]]))
    np.savez(tmp_path / "x.npz", states=np.array([{}], object))
    with np.load(tmp_path / "x.npz") as file, pytest.raises(EpisodeError, match="cannot be read"):
        episode_from(file)
    with pytest.raises(EpisodeError, match="the model 9"):
        episode_from(game(), Expected(9, ACTIONS))


def test_a_game_that_is_not_forced_to_disk_is_whole_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    game = make_episode()
    write_episode(tmp_path / "fast.npz", game, compress=False, durable=False)
    assert not synced
    write_episode(tmp_path / "sure.npz", game, compress=False)
    assert synced
    assert (tmp_path / "fast.npz").read_bytes() == (tmp_path / "sure.npz").read_bytes()
