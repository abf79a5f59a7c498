from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from understudy.cli import main
from understudy.errors import SettingsError
from understudy.games.spec import GameSpec, registered_games
from understudy.settings import (
    NetworkSettings,
    Settings,
    TrainingSettings,
    as_flags,
    describe,
    load_settings,
    section_from,
    sections,
    setting,
)


def test_later_sources_win_over_earlier_ones(tmp_path: Path) -> None:
    file = tmp_path / "understudy.toml"
    file.write_text("[training]\nlearning_rate = 1\ngamma = 0.5\nclip = 0.3\n")
    environment = {"UNDERSTUDY_TRAINING_LEARNING_RATE": "2", "UNDERSTUDY_TRAINING_GAMMA": "0.6", "PATH": "/bin"}
    settings = load_settings(file, environment, {"training.learning-rate": "3e-4"})
    assert (settings.training.learning_rate, settings.training.gamma, settings.training.clip) == (3e-4, 0.6, 0.3)
    assert settings.network == NetworkSettings()


@pytest.mark.parametrize(
    ("text", "nearest"),
    [("[trainin]\ngamma = 1", "'training'"), ("[training]\nlearningrate = 1", "'learning_rate'")],
)
def test_an_unknown_key_in_the_file_is_an_error_that_names_the_nearest(tmp_path: Path, text: str, nearest: str) -> None:
    file = tmp_path / "understudy.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=f"nearest known one is {nearest}"):
        load_settings(file, {})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"gamma = 0.5\n", r"gamma is a setting; write it below a line \[training\]"),
        ("[training]\ngamma = 0.5\n".encode("utf-16"), "not UTF-8 text. Save it as UTF-8"),
        (b"[training]\n# caf\xe9\ngamma = 0.5\n", "not UTF-8 text. Save it as UTF-8"),
        (b"[training]\ngamma = '0.5'\n", "gamma is '0.5'; it must be a number"),
        (b"[[training]]\ngamma = 0.5\n", r"write its settings below a line \[training\]"),
        (b"[training]\ngamma = nan\n", "gamma is nan"),
    ],
    ids=["no section", "UTF-16", "Latin-1", "text", "list of sections", "NaN"],
)
def test_a_file_as_somebody_may_write_it_is_refused_with_what_to_do(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "understudy.toml"
    file.write_bytes(content)
    with pytest.raises(SettingsError, match=said):
        load_settings(file, {})


@pytest.mark.skipif(os.name == "nt", reason="links need a permission there")
def test_a_file_that_is_a_link_to_nowhere_is_not_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "understudy.toml").symlink_to("moved.toml")
    with pytest.raises(SettingsError, match=r"no settings file understudy\.toml: it is a link to moved\.toml"):
        load_settings()


def test_blanks_around_a_variable_are_left_out() -> None:
    given = {"UNDERSTUDY_GATE_MODE": " strict ", "UNDERSTUDY_LEARNER_VERBOSE": " no ", "NUM_INSTANCES": "2 "}
    settings = load_settings(environment=given)
    assert (settings.gate.mode, settings.learner.verbose, settings.learner.max_workers) == ("strict", False, 2)


def test_a_file_may_come_from_an_editor_of_windows(tmp_path: Path) -> None:
    file = tmp_path / "understudy.toml"
    file.write_bytes(b"\xef\xbb\xbf[training]\r\ngamma = 0.5\r\n")
    assert load_settings(file, {}).training.gamma == 0.5


@dataclasses.dataclass(frozen=True)
class HeapSettings:  # its types are text, because this module imports annotations from __future__
    """A section as the package of a stranger defines it."""

    size: int = setting(12, "stones at the start", 1)
    odds: float = setting(0.5, "the chance to begin", 0, 1)
    tries: tuple[int, ...] = setting((1, 2), "sizes to try")


@pytest.fixture
def heap_game(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = GameSpec(name="heap", sections={"heap": HeapSettings}, variables={"HEAP_SIZE": ("heap", "size")})
    games = {**registered_games(), "heap": spec}
    for module in ("defaults", "loading"):
        monkeypatch.setattr(f"understudy.settings.{module}.registered_games", lambda: games)


@pytest.mark.usefixtures("heap_game")
def test_a_section_that_a_game_adds_is_filled_from_all_sources_and_checked(tmp_path: Path) -> None:
    file = tmp_path / "understudy.toml"
    file.write_text("[heap]\nodds = 1\n")
    filled = load_settings(file, {"HEAP_SIZE": "5"}, {"heap.tries": "3,4"}).heap
    assert filled == HeapSettings(5, 1.0, (3, 4))
    assert load_settings(environment={}).heap == HeapSettings()
    for flag, text in (("heap.size", "0"), ("heap.size", "many"), ("heap.odds", "2"), ("heap.tries", "a")):
        with pytest.raises(SettingsError, match=f"--{flag}"):
            load_settings(environment={}, flags={flag: text})


@pytest.mark.usefixtures("heap_game")
def test_selfplay_and_learn_have_flags_for_the_settings_that_games_add(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("selfplay", "learn"):
        with pytest.raises(SystemExit):
            main([command, "--help-all"])
        assert "--heap.size" in capsys.readouterr().out


def test_familiar_variables_fill_settings_and_ours_win() -> None:
    environment = {"NUM_INSTANCES": "3", "REPLAY_ARCHIVE_DIR": "/replays"}
    settings = load_settings(environment=environment)
    assert (settings.learner.max_workers, settings.replays.directory) == (3, "/replays")
    settings = load_settings(environment={**environment, "UNDERSTUDY_LEARNER_MAX_WORKERS": "4"})
    assert settings.learner.max_workers == 4
    with pytest.raises(SettingsError, match="NUM_INSTANCES"):
        load_settings(environment={"NUM_INSTANCES": "many"})


def test_unknown_variables_and_flags_name_the_nearest_too() -> None:
    with pytest.raises(SettingsError, match=r"UNDERSTUDY_LEARNER_MAX_WORKER: .*nearest known one is 'max_workers'"):
        load_settings(environment={"UNDERSTUDY_LEARNER_MAX_WORKER": "1"})
    with pytest.raises(SettingsError, match=r"--learner\.bach-games: .*'batch_games'"):
        load_settings(environment={}, flags={"learner.bach-games": "1"})


@pytest.mark.parametrize(
    ("flag", "text", "message"),
    [
        ("training.epochs", "1.5", "must be a whole number"),
        ("training.gamma", "1.01", "at least 0 and at most 1"),
        ("training.gamma", "nan", "must be a number"),
        ("learner.verbose", "perhaps", "must be true or false"),
        ("network.policy", "transformr", "possible: .*transformer"),
        ("network.hidden", "64,x", "must be a list of whole numbers"),
        ("network.hidden", "64,0", "must be at least 1"),
    ],
)
def test_a_wrong_value_is_an_error_that_says_what_was_expected(flag: str, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_settings(environment={}, flags={flag: text})


def test_settings_made_in_code_are_checked_as_well() -> None:
    with pytest.raises(SettingsError, match="learning_rate is -1"):
        TrainingSettings(learning_rate=-1.0)
    with pytest.raises(SettingsError, match="epochs is 0"):
        dataclasses.replace(TrainingSettings(), epochs=0)


def test_a_missing_or_broken_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no settings file"):
        load_settings(tmp_path / "none.toml", {})
    (tmp_path / "broken.toml").write_text("[training\n")
    with pytest.raises(SettingsError, match=r"broken\.toml cannot be read"):
        load_settings(tmp_path / "broken.toml", {})


def test_flags_made_from_settings_give_them_back() -> None:
    settings = Settings(
        NetworkSettings(policy="transformer", hidden=(32, 16, 8)), TrainingSettings(gamma=0.5, normalize_states=False)
    )
    flags = as_flags(settings, sections())
    parsed = dict(zip([flag.removeprefix("--") for flag in flags[::2]], flags[1::2], strict=True))
    assert load_settings(environment={}, flags=parsed) == settings


def test_a_section_survives_its_plain_form() -> None:
    network = NetworkSettings(hidden=(7,))
    assert section_from("network", {"hidden": [7], "policy": "mlp"}, "here") == network
    with pytest.raises(SettingsError, match="here"):
        section_from("network", {"hiden": [7]}, "here")


def test_every_setting_is_documented() -> None:
    rows = list(describe())
    assert len(rows) > 30
    assert all(len(doc) > 10 for *_, doc in rows)


def test_the_documentation_lists_the_settings_as_they_are() -> None:
    documented = (Path(__file__).parent.parent / "docs" / "settings.md").read_text(encoding="utf-8")
    for section, name, default, doc in describe():
        assert f"| `{name}` | `{default}` | {doc} |" in documented, (
            f"[{section}] {name}: run tools/write_settings_doc.py"
        )


def test_auto_workers_are_one_per_core() -> None:
    parallel = load_settings(None, flags={"parallel.num-workers": "auto"}).parallel
    assert parallel.workers == os.cpu_count()
    with pytest.raises(SettingsError, match="games_per_worker"):
        load_settings(None, flags={"parallel.games_per_worker": "auto"})
