"""`understudy tune`: settings are searched with Ray Tune, and the gate's test decides."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from parallel.small import make_model, settings
from understudy.check.evaluation import Play
from understudy.cli import main
from understudy.errors import SettingsError
from understudy.games.game import open_game
from understudy.games.tictactoe import TicTacToe
from understudy.models.live import LiveModel
from understudy.models.state import read_model, to_bytes
from understudy.models.store import ModelStore
from understudy.parallel.loop import TrainingLoopManager
from understudy.rundir import RunDir
from understudy.settings import TrainingSettings
from understudy.tune.judge import Referee, judge
from understudy.tune.space import DEFAULT_SPACE, as_toml, config_of, space_of
from understudy.tune.trial import TrialPlan, train


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Models of tic-tac-toe: an untrained one, the same again, and one that was trained."""
    folder = tmp_path_factory.mktemp("models")
    loop = TrainingLoopManager("tictactoe", settings(), seed=1)
    paths = {name: folder / f"{name}.npz" for name in ("untrained", "same", "trained")}
    for name in ("untrained", "same"):
        paths[name].write_bytes(to_bytes(loop.model.export()))
    loop.run(decisions=60_000)
    paths["trained"].write_bytes(to_bytes(loop.model.export()))
    return paths


@pytest.mark.slow
def test_the_judge_finds_what_is_better_and_nothing_else(trained: dict[str, Path]) -> None:
    referee = Referee("tictactoe")
    found = judge(referee, trained["trained"], trained["untrained"], first=0, most=400, error=0.05)
    assert found.better
    assert found.games < 200
    assert found.mean > 0.2
    worse = judge(referee, trained["untrained"], trained["trained"], first=0, most=400, error=0.05)
    assert not worse.better
    assert worse.games < 400, "no hope is seen early"


@pytest.mark.slow
def test_equal_models_are_rarely_told_apart(trained: dict[str, Path]) -> None:
    referee = Referee("tictactoe")
    verdicts = [
        judge(referee, trained["same"], trained["untrained"], first=1000 * n, most=100, error=0.05) for n in range(10)
    ]
    assert sum(verdict.better for verdict in verdicts) <= 2  # of ten at 5 %: more has a probability of 1 %


def test_models_play_each_other_on_both_sides(trained: dict[str, Path]) -> None:
    game = open_game("tictactoe", 40)
    weak, strong = (LiveModel(read_model(trained[name])) for name in ("untrained", "trained"))
    returns, unfinished = Play(game, strong, True, 0, weak).returns(40, [number % 2 for number in range(40)])
    reverse, _ = Play(game, weak, True, 0, strong).returns(40, [number % 2 for number in range(40)])
    assert unfinished == 0
    assert sum(returns) > 5
    assert sum(reverse) < -5


def test_a_game_of_one_player_is_compared_on_the_same_seeds(tmp_path: Path) -> None:
    paths = [tmp_path / f"{n}.npz" for n in range(2)]
    for path in paths:
        loop = TrainingLoopManager("parallel.small:Bandit", settings(), seed=0)
        path.write_bytes(to_bytes(loop.model.export()))
    assert Referee("parallel.small:Bandit").compare(paths[0], paths[1], 0, 20) == [0.0] * 20


def test_ranges_are_checked() -> None:
    assert space_of([]) == DEFAULT_SPACE
    (one,) = space_of(["training.epochs=2:20"])
    assert (one.name, one.whole, one.log, one.within(3.4), one.within(99)) == ("epochs", True, True, 3, 20)
    for text in ("epochs", "epochs=9:2", "epochs=a:b", "normalize_states=0:1", "epochz=1:2", "gamma=0.5:1.5"):
        with pytest.raises(SettingsError):
            space_of([text])


def test_the_settings_found_are_a_settings_file(tmp_path: Path) -> None:
    config = config_of(TrainingSettings(), DEFAULT_SPACE)
    assert tomllib.loads(as_toml(config)) == {"training": config}


@pytest.mark.slow
def test_a_trial_goes_on_from_a_checkpoint_with_other_settings() -> None:
    base = to_bytes(make_model(TicTacToe).export())
    plan = TrialPlan("tictactoe", settings(), base, 2, 2000, 10, 0)
    slices = list(train(plan, {"learning_rate": 1e-3}, base, 0))
    assert [number for number, _, _ in slices] == [1, 2]
    ((number, _, model),) = train(plan, {"learning_rate": 5e-4}, slices[0][2], 1)
    assert number == 2
    assert model != slices[1][2]


@pytest.fixture(scope="module")
def ray_here() -> Iterator[None]:
    ray = pytest.importorskip("ray")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("ray_here")
@pytest.mark.parametrize("scheduler", ["asha", "pbt"])
def test_better_settings_are_found_judged_and_published(
    scheduler: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RunDir.at(tmp_path / "run")
    arguments = ["--game", "parallel.small:Bandit", "--scheduler", scheduler, "--trials", "2", "--slices", "2"]
    more = ["--decisions", "6000", "--games", "20", "--judge-games", "100", "--over", "learning_rate=1e-3:2e-3"]
    slow = ["--training.learning-rate", "1e-7", "--training.gamma", "0", "--training.exploration", "0"]
    assert main(["tune", str(run.root), *arguments, *more, *slow]) == 0
    out = capsys.readouterr().out
    assert "slice 2 of 2" in out
    assert "The settings of the best trial are better" in out
    tuned = tomllib.loads((run.root / "tuned.toml").read_text())
    assert 1e-3 <= tuned["training"]["learning_rate"] <= 2e-3
    head = ModelStore(run.model, run.ledger).load()
    assert (head.version, head.publisher) == (2, "tune")
    assert head.training.learning_rate == tuned["training"]["learning_rate"]


def test_without_a_model_the_game_must_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ray")
    assert main(["tune", str(tmp_path / "none")]) == 1
    assert "--game" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
