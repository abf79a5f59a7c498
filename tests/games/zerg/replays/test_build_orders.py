from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from understudy.games.zerg.replays.build_orders import read_evidence, summarize, write_build_orders
from understudy.sc2.build_orders import OpeningStep, read_build_orders
from understudy.sc2.errors import ReplayError

SCHEMA = json.loads((Path(__file__).parents[4] / "docs" / "build-orders.schema.json").read_text(encoding="utf-8"))


def game(pool: float, supply: float = 17.0, **other: Any) -> dict[str, Any]:
    facts = {
        "matchup": "ZvT",
        "result": "Win",
        "patch": "5.0.15.1",
        "kind": "ladder",
        "computer": False,
        "starting_workers": 12,
        "milestones": {"pool": [pool, supply], "hatchery_2": [50.0, 16.0]},
        "drones": [16, 20],
        "army_supply": [0, 2.0],
        "first_attack": 100.0,
    }
    return facts | other


def pool(content: Any, matchup: str = "ZvT") -> Any:
    return content["matchups"][matchup]["milestones"]["pool"]


def test_mean_spread_and_number_are_weighted_by_result() -> None:
    content = summarize({"a": game(60.0), "b": game(90.0, result="Loss")})
    found = pool(content)
    assert found["observations"] == 2
    assert found["weight"] == 1.5
    assert found["seconds"]["mean"] == 70.0
    assert found["seconds"]["spread"] == pytest.approx((200.0) ** 0.5, abs=1e-3)


def test_older_major_versions_and_computers_weigh_less() -> None:
    older = summarize({"a": game(60.0), "b": game(90.0, patch="4.10.0.1")})
    computer = summarize({"a": game(60.0), "b": game(90.0, computer=True)})
    assert pool(older)["seconds"]["mean"] == 70.0
    assert pool(computer)["seconds"]["mean"] == pytest.approx(62.727)


def test_the_order_of_evidence_changes_not_a_byte(tmp_path: Path) -> None:
    games = {f"{i}": game(60.0 + i * 0.1, 12 + i, result=r) for i, r in enumerate(("Win", "Loss", "Undecided", "Win"))}
    texts = {json.dumps(summarize(dict(order))) for order in itertools.permutations(games.items())}
    assert len(texts) == 1


def test_games_with_other_starting_workers_are_counted_not_averaged() -> None:
    content = summarize({"a": game(60.0), "b": game(200.0, starting_workers=6)})
    assert pool(content)["seconds"]["mean"] == 60.0
    assert content["sources"]["other_starting_workers"] == 1


def test_matchups_are_apart_and_together() -> None:
    content = summarize({"a": game(60.0), "b": game(90.0, matchup="ZvZ")})
    assert pool(content, "ZvT")["seconds"]["mean"] == 60.0
    assert pool(content, "ZvZ")["seconds"]["mean"] == 90.0
    assert pool(content, "overall")["seconds"]["mean"] == 75.0
    assert "ZvP" not in content["matchups"]


def test_nothing_is_not_written_over_something(tmp_path: Path) -> None:
    path = tmp_path / "learned.json"
    assert write_build_orders(path, summarize({"a": game(60.0)}))
    before = path.read_bytes()
    assert summarize({}) is None
    assert summarize({"a": game(60.0, milestones={})}) is None
    assert not write_build_orders(path, None)
    assert path.read_bytes() == before


def test_writing_the_same_again_touches_nothing(tmp_path: Path) -> None:
    path = tmp_path / "learned.json"
    content = summarize({"a": game(60.0)})
    assert write_build_orders(path, content)
    at = path.stat().st_mtime_ns
    assert not write_build_orders(path, content)
    assert path.stat().st_mtime_ns == at


def test_merging_files_is_the_union_of_their_evidence(tmp_path: Path) -> None:
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    write_build_orders(here, summarize({"a:0": game(60.0), "b:0": game(70.0)}))
    write_build_orders(there, summarize({"b:0": game(70.0), "c:1": game(80.0)}))
    merged = summarize(read_evidence(here) | read_evidence(there))
    assert merged == summarize({"c:1": game(80.0), "b:0": game(70.0), "a:0": game(60.0)})
    assert merged["sources"]["replays"] == 3
    assert summarize(merged["evidence"]) == merged
    assert read_evidence(tmp_path / "none.json") == {}


@pytest.mark.parametrize("evidence", [None, [], {"a:0": {}}, {"a:0": 3}])
def test_a_file_without_usable_evidence_is_not_merged_with(tmp_path: Path, evidence: Any) -> None:
    path = tmp_path / "learned.json"
    path.write_text(json.dumps(summarize({"a:0": game(60.0)}) | {"evidence": evidence}))
    with pytest.raises(ReplayError, match="no evidence"):
        read_evidence(path)


def test_openings_are_clustered_with_their_win_rate() -> None:
    games = {
        "a": game(20.0, 12.0, result="Loss"),
        "b": game(73.0, 17.0),
        "c": game(75.0, 18.0),
    }
    clusters = summarize(games)["matchups"]["ZvT"]["clusters"]
    assert [(c["name"], c["wins"], c["losses"], c["win_rate"]) for c in clusters] == [
        ("hatch-pool", 2, 0, 0.75),
        ("12 to 14 pool", 0, 1, 0.333),
    ]
    assert clusters[0]["opening"] == "16 hatch, 18 pool"
    assert clusters[1]["opening"] == "12 pool, 16 hatch"


def test_another_file_gives_a_bot_another_opening(tmp_path: Path) -> None:
    path = tmp_path / "learned.json"
    write_build_orders(path, summarize({"a": game(73.0)}))
    orders = read_build_orders(path)
    assert orders.opening("ZvT") == [OpeningStep(16, "hatchery"), OpeningStep(17, "pool")]
    assert orders.opening("ZvP") == orders.opening("ZvT")  # without evidence for this match-up: all games
    assert orders.target("ZvT", "pool") == (73.0, 17.0)
    assert orders.target("ZvT", "spire") is None
    assert orders.openings("ZvT") == {"hatch-pool": 0.667}
    write_build_orders(path, summarize({"a": game(18.0, 12.0)}))
    assert read_build_orders(path).opening("ZvT") == [OpeningStep(12, "pool"), OpeningStep(16, "hatchery")]
    with pytest.raises(ReplayError, match="no opening 'hatch-pool'"):
        read_build_orders(path).opening("ZvT", "hatch-pool")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": 1, "matchups": {}}', '{"schema": 9, "matchups": {"overall": 1}}']
)
def test_a_file_of_something_else_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "learned.json"
    path.write_text(text)
    with pytest.raises(ReplayError, match=r"learned\.json"):
        read_build_orders(path)


def test_a_bot_reads_build_orders_with_the_standard_library_alone() -> None:
    code = (
        "import sys, understudy.sc2.build_orders\n"
        "roots = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(r for r in roots - sys.stdlib_module_names if not r.startswith('_')))\n"
    )
    shown = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "['understudy']\n"


def test_the_schema_describes_the_file() -> None:
    content = summarize({"a": game(60.0), "b": game(90.0, matchup="ZvZ", first_attack=None, drones=[])})
    assert list(violations(content, SCHEMA)) == []
    content["matchups"]["ZvT"]["milestones"]["pool"]["seconds"]["mean"] = "soon"
    assert list(violations(content, SCHEMA)) == ["matchups.ZvT.milestones.pool.seconds.mean: not a number"]
    del content["sources"]
    assert ".sources: missing" in list(violations(content, SCHEMA))


def violations(value: Any, schema: Any, where: str = "") -> Any:
    """As much of JSON Schema as the schema file uses."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
    kinds = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": int | float,
        "null": type(None),
        "boolean": bool,
    }
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, kinds[name]) for name in names):
        yield f"{where}: not a {' or '.join(names)}"
        return
    if isinstance(value, list):
        for i, member in enumerate(value):
            yield from violations(member, schema["items"], f"{where}.{i}")
    if isinstance(value, dict):
        yield from (f"{where}.{name}: missing" for name in schema.get("required", []) if name not in value)
        for name, member in value.items():
            inner = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if not inner:
                yield f"{where}.{name}: not described"
            else:
                yield from violations(member, inner, f"{where}.{name}".lstrip("."))
