"""The messages of the sidecar, and what they leave in the run."""

from __future__ import annotations

import io
import json
import struct
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from understudy.cli import main
from understudy.experience.episode import read_episode
from understudy.rundir import RunDir
from understudy.serve.openapi import description
from understudy.serve.protocol import MESSAGES, RequestError, check
from understudy.serve.sidecar import Sidecar
from understudy.serve.stdio import serve_lines
from understudy.settings import StorageSettings

HELLO = {"features": ["health", "gold"], "actions": ["LEFT", "RIGHT", "STAY"]}


@pytest.fixture
def sidecar(run: RunDir) -> Iterator[Sidecar]:
    made = Sidecar(run.root)
    yield made
    made.close()


def games(run: RunDir) -> list[Any]:
    """The games that wait for the learner, or that were learned from."""
    files = [*run.buffer.glob("*.npz"), *run.archive.glob("*.npz")]
    return [read_episode(path, StorageSettings()) for path in files]


def test_a_game_is_played_recorded_and_saved(sidecar: Sidecar, run: RunDir) -> None:
    hello = sidecar.answer("hello", HELLO)
    assert hello["protocol"] == 1
    assert hello["model_version"] == 1
    game = sidecar.answer("begin", {"about": {"map": "Ridge", "hero": "axe"}})["game"]
    first = sidecar.answer("act", {"game": game, "state": [1.0, 2]})
    assert first["label"] == HELLO["actions"][first["action"]]
    assert 0 < first["probability"] <= 1
    sidecar.answer("act", {"game": game, "state": [3.0, 4.0], "reward": 0.5, "legal": [False, True, False]})
    sidecar.answer("reward", {"game": game, "reward": 0.25})
    done = sidecar.answer("end", {"game": game, "result": "Victory", "reward": 1.0, "about": {"opponent_id": "x"}})
    assert done == {"steps": 2, "result": "Victory", "saved": True, "total_reward": 1.75}
    (episode,) = games(run)
    assert episode.states.tolist() == [[1, 2], [3, 4]]
    assert episode.rewards.tolist() == [0.5, 1.25]
    assert episode.actions[1] == 1
    assert np.exp(episode.log_probs[0]) == pytest.approx(first["probability"], rel=1e-5)
    assert (episode.meta.map, episode.meta.opponent_id, episode.meta.extra["hero"]) == ("Ridge", "x", "axe")


def test_without_a_model_somebody_must_say_what_it_is_for(sidecar: Sidecar) -> None:
    with pytest.raises(RequestError, match="say hello") as raised:
        sidecar.answer("begin", {})
    assert raised.value.status == 409


def test_a_run_that_has_a_model_needs_no_hello_and_refuses_another_one(sidecar: Sidecar, run: RunDir) -> None:
    sidecar.answer("hello", HELLO)
    again = Sidecar(run.root)
    assert again.answer("hello", {}) | {"model_version": 1} == sidecar.answer("hello", HELLO) | {"model_version": 1}
    other = Sidecar(run.root)
    with pytest.raises(RequestError) as raised:
        other.answer("hello", {"features": 7, "actions": 3})
    assert raised.value.status == 409
    with pytest.raises(RequestError, match="Another bot"):
        sidecar.answer("hello", {"features": 7, "actions": 3})
    for one in (again, other):
        one.close()


@pytest.mark.parametrize(
    ("name", "message", "status"),
    [
        ("fly", {}, 404),
        ("act", {"game": "nobody", "state": [1, 2]}, 404),
        ("act", {"state": [1, 2]}, 400),
        ("act", {"game": "g", "state": [1, 2, 3]}, 400),
        ("act", {"game": "g", "state": [1, "2"]}, 400),
        ("act", {"game": "g", "state": [1, None]}, 400),
        ("act", {"game": "g", "state": {}}, 400),
        ("act", {"game": "g", "state": [1, 2], "legal": [True]}, 400),
        ("act", {"game": "g", "state": [1, 2], "legal": [False, False, False]}, 400),
        ("act", {"game": "g", "state": [1, 2], "reward": float("inf")}, 400),
        ("act", {"game": "g", "state": [1, 2], "rewards": 1}, 400),
        ("act", {"game": "g", "state": [1, 2], "seq": 7}, 409),
        ("act", {"game": "g", "state": [1, 2], "seq": True}, 400),
        ("begin", {"game": "g"}, 409),
        ("begin", {"game": "../g"}, 400),
        ("begin", {"about": {"trial": 1}}, 400),
        ("end", {"game": "g", "final_state": [1]}, 400),
        ("end", {"game": "g", "about": {"result": 1}}, 400),
        ("hello", {"features": 3}, 400),
        ("hello", {"features": [1, 2], "actions": 3}, 400),
    ],
)
def test_a_wrong_message_is_refused_and_changes_nothing(
    sidecar: Sidecar, run: RunDir, name: str, message: dict[str, Any], status: int
) -> None:
    sidecar.answer("hello", HELLO)
    sidecar.answer("begin", {"game": "g"})
    with pytest.raises(RequestError) as raised:
        sidecar.answer(name, message)
    assert raised.value.status == status
    sidecar.answer("act", {"game": "g", "state": [1, 2], "seq": 1})
    assert sidecar.answer("end", {"game": "g"})["steps"] == 1
    assert len(games(run)) == 1


def test_a_repeated_message_gets_the_same_answer_and_is_done_once(sidecar: Sidecar, run: RunDir) -> None:
    sidecar.answer("hello", HELLO)

    def twice(name: str, message: dict[str, Any]) -> dict[str, Any]:
        answer = sidecar.answer(name, message)
        assert sidecar.answer(name, message) == answer
        return answer

    twice("begin", {"game": "g", "seq": 0})
    for seq in range(1, 6):
        twice("act", {"game": "g", "state": [seq, 0], "reward": 1, "seq": seq})
    twice("reward", {"game": "g", "reward": 1, "seq": 6})
    assert twice("end", {"game": "g", "seq": 7})["total_reward"] == 5
    (episode,) = games(run)
    assert episode.states[:, 0].tolist() == [1, 2, 3, 4, 5]
    with pytest.raises(RequestError):
        sidecar.answer("begin", {"game": "g", "seq": 0})


def test_many_games_at_once(sidecar: Sidecar, run: RunDir) -> None:
    sidecar.answer("hello", HELLO)
    names = [sidecar.answer("begin", {})["game"] for _ in range(10)]
    for step in range(3):
        acts = [{"game": name, "state": [number, step]} for number, name in enumerate(names)]
        results = sidecar.answer("acts", {"acts": [*acts, {"game": "nobody", "state": [0, 0]}, 3]})["results"]
        assert all("action" in result for result in results[:10])
        assert "no running game" in results[10]["error"]
        assert "error" in results[11]
    assert sidecar.answer("status", {})["games"] == 10
    for name in names:
        sidecar.answer("end", {"game": name, "result": "Tie"})
    assert sorted(int(game.states[0, 0]) for game in games(run)) == list(range(10))
    assert sidecar.answer("status", {}) | {"learner": ""} == {
        "protocol": 1,
        "games": 0,
        "ended": 10,
        "decisions": 30,
        "learner": "",
    }


def test_bots_in_several_threads_do_not_mix(sidecar: Sidecar, run: RunDir) -> None:
    sidecar.answer("hello", HELLO)
    failed: list[BaseException] = []

    def bot(number: int) -> None:
        try:
            for _ in range(5):
                game = sidecar.answer("begin", {})["game"]
                for _ in range(20):
                    sidecar.answer("act", {"game": game, "state": [number, number]})
                sidecar.answer("end", {"game": game})
        except BaseException as error:  # noqa: BLE001 - shown by the test
            failed.append(error)

    threads = [threading.Thread(target=bot, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    found = games(run)
    assert len(found) == 30
    assert all(len(game) == 20 and len(np.unique(game.states)) == 1 for game in found)


def test_a_game_that_nobody_plays_any_more_is_closed_and_salvaged(run: RunDir) -> None:
    sidecar = Sidecar(run.root, idle_seconds=0.0)
    sidecar.answer("hello", HELLO)
    sidecar.answer("begin", {"game": "g"})
    for step in range(4):
        sidecar.answer("act", {"game": "g", "state": [step, 0]})
    assert sidecar.close_idle() == 1
    with pytest.raises(RequestError):
        sidecar.answer("act", {"game": "g", "state": [9, 0]})
    assert main(["learn", str(run.root), "--once"]) == 0
    (episode,) = games(run)
    assert episode.meta.truncated
    assert episode.states[:, 0].tolist() == [0, 1, 2]
    assert episode.final_state.tolist() == [3, 0]
    sidecar.close()


def test_lines_on_standard_input(sidecar: Sidecar, run: RunDir) -> None:
    state = struct.pack("<3f", 0.0, 5.0, 6.0)
    lines: list[dict[str, Any]] = [
        {"do": "hello", **HELLO},
        {"do": "begin", "game": "g"},
        {"do": "act", "game": "g", "state": [1, 2]},
        {"do": "act", "game": "g", "bytes": len(state)},
        {"do": "act", "game": "g", "bytes": -1},
        {"game": "g"},
        {"do": "end", "game": "g", "result": "Defeat"},
    ]
    content = b""
    for line in lines:
        content += json.dumps(line).encode() + b"\n" + (state if line.get("bytes", 0) == len(state) else b"")
    target = io.BytesIO()
    serve_lines(sidecar, io.BytesIO(content + b"no json\n" + b'{"do": "sta'), target)
    answers = [json.loads(line) for line in target.getvalue().splitlines()]
    assert [answer["ok"] for answer in answers] == [True, True, True, True, False, False, True, False]
    (episode,) = games(run)
    assert episode.states.tolist() == [[1, 2], [5, 6]]


def test_answers_are_as_the_description_says(sidecar: Sidecar) -> None:
    paths = description()["paths"]
    assert set(paths) == {f"/v1/{name}" for name in MESSAGES}
    played: list[tuple[str, dict[str, Any]]] = [
        ("hello", HELLO),
        ("begin", {"game": "g"}),
        ("act", {"game": "g", "state": [1, 2]}),
        ("acts", {"acts": []}),
        ("reward", {"game": "g", "reward": 1}),
        ("end", {"game": "g"}),
        ("status", {}),
    ]
    assert {name for name, _ in played} == set(MESSAGES)
    for name, message in played:
        check(name, message)
        answer = sidecar.answer(name, message)
        assert set(answer) == set(MESSAGES[name].answer), name
        operation = paths[f"/v1/{name}"]["get" if name == "status" else "post"]
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        assert set(schema["properties"]) == set(answer)
