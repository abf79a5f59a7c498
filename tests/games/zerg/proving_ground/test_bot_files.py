"""Bots are found in files, folders and packages; their games are summed up in a line."""

from __future__ import annotations

from pathlib import Path

import pytest
import sc2
from sc2.data import Race

from understudy.errors import SettingsError
from understudy.games.zerg.proving_ground.__main__ import main
from understudy.games.zerg.proving_ground.bot_files import load_bot

BOT = "from sc2.bot_ai import BotAI\n{more}\nclass {name}(BotAI):\n    async def on_step(self, iteration): {what}\n"


def write(path: Path, name: str, more: str = "", what: str = "pass") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(BOT.format(name=name, more=more, what=what), encoding="utf-8")
    return path


@pytest.fixture
def ladder_folder(tmp_path: Path) -> Path:
    """A folder as ladders get it: run.py beside a package that names itself."""
    folder = tmp_path / "prober"
    write(folder / "bot" / "main.py", "Prober", "from bot.extra import NUMBER")
    (folder / "bot" / "extra.py").write_text(
        "from pathlib import Path\nNUMBER = Path('number.txt').read_text()\n", encoding="utf-8"
    )
    (folder / "number.txt").write_text("7", encoding="utf-8")
    lines = ["from bot.main import Prober", "from sc2.data import Race", "from sc2.player import Bot"]
    (folder / "run.py").write_text("\n".join([*lines, "bot = Bot(Race.Protoss, Prober())"]), encoding="utf-8")
    return folder


def test_a_ladder_folder_is_a_bot(ladder_folder: Path) -> None:
    bot = load_bot(ladder_folder)
    assert (type(bot.ai).__name__, bot.race, bot.name) == ("Prober", Race.Protoss, "prober")


def test_a_file_of_a_package_is_a_bot(ladder_folder: Path, tmp_path: Path) -> None:
    (ladder_folder / "bot" / "number.txt").write_text("8", encoding="utf-8")
    assert load_bot(ladder_folder / "bot" / "main.py").race == Race.Protoss
    inner = write(tmp_path / "outer" / "inner" / "relative.py", "Relative", "from .other import X")
    (inner.parent / "__init__.py").touch()
    (inner.parent / "other.py").write_text("X = 1\n", encoding="utf-8")
    assert type(load_bot(inner).ai).__name__ == "Relative"


def test_a_module_is_a_bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "strategies" / "early.py", "Early")
    monkeypatch.chdir(tmp_path)
    assert type(load_bot("strategies.early").ai).__name__ == "Early"
    assert type(load_bot("strategies.early:Early").ai).__name__ == "Early"


def test_packages_of_the_same_name_do_not_mix(tmp_path: Path) -> None:
    for number in (1, 2):
        write(tmp_path / str(number) / "bot" / "a.py", f"Bot{number}")
        (tmp_path / str(number) / "run.py").write_text(f"from bot.a import Bot{number}\n", encoding="utf-8")
    assert [type(load_bot(tmp_path / str(n)).ai).__name__ for n in (1, 2, 1)] == ["Bot1", "Bot2", "Bot1"]


def test_of_two_classes_one_must_be_meant(tmp_path: Path) -> None:
    two = write(tmp_path / "two.py", "Alpha", "class Base(BotAI): pass\nclass Zulu(Base): pass")
    with pytest.raises(SettingsError, match="Alpha, Zulu"):
        load_bot(two)
    assert type(load_bot(f"{two}:Zulu").ai).__name__ == "Zulu"
    two.write_text(two.read_text(encoding="utf-8") + "\ndef main(): Bot(Race['Zerg'], Alpha())\n", encoding="utf-8")
    bot = load_bot(two)
    assert (type(bot.ai).__name__, bot.race) == ("Alpha", Race.Zerg)


def test_the_entry_of_a_ladder_folder_plays_the_first_of_its_bots(tmp_path: Path) -> None:
    write(tmp_path / "entry" / "ours.py", "Ours")
    write(tmp_path / "entry" / "rival.py", "Rival")
    lines = [
        "from sc2.data import Race",
        "from sc2.player import Bot",
        "from ours import Ours",
        "from rival import Rival",
    ]
    lines += ["player = Ours()", "bot = Bot(Race.Terran, player)", "opponent = Bot(Race.Zerg, Rival())"]
    (tmp_path / "entry" / "run.py").write_text("\n".join(lines), encoding="utf-8")
    bot = load_bot(tmp_path / "entry")
    assert (type(bot.ai).__name__, bot.race) == ("Ours", Race.Terran)


def test_a_race_is_found_when_the_class_is_hidden(tmp_path: Path) -> None:
    write(tmp_path / "hidden" / "ours.py", "Ours")
    lines = ["from sc2.data import Race", "from sc2.player import Bot", "from ours import Ours"]
    lines += ["bot = Bot(Race.Terran, [Ours][0]())"]
    (tmp_path / "hidden" / "run.py").write_text("\n".join(lines), encoding="utf-8")
    assert load_bot(tmp_path / "hidden").race == Race.Terran


def test_what_is_no_bot_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for wrong, text in (("nobody.py", "not a file"), ("no.such", "nor a module"), (tmp_path / "empty", "has none of")):
        with pytest.raises(SettingsError, match=text):
            load_bot(wrong)
    with pytest.raises(SettingsError, match="imports not_there"):
        load_bot(write(tmp_path / "needs.py", "Needs", "import not_there"))


def test_a_game_is_summed_up(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bot = write(tmp_path / "trainer.py", "T", "from sc2.ids.unit_typeid import UnitTypeId as U", "self.do_it()")
    text = "    def do_it(self):\n        self.townhalls[0].train(U.SCV), self.townhalls[0].train(U.MARINE)\n"
    bot.write_text(bot.read_text(encoding="utf-8") + text, encoding="utf-8")
    assert main(["play", str(bot), "--race", "Terran", "--time-limit", "30"]) == 0
    line = capfd.readouterr().out
    assert "Tie at 0:30 (672 loops, " in line
    assert "made 2 SCV" in line
    assert "Train Marine: NotSupported" in line


@pytest.mark.slow
def test_many_games_at_once_and_one_that_fails(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bot = write(tmp_path / "idle.py", "Idle")
    options = ["--race", "Zerg", "--time-limit", "10"]
    assert main(["play", str(bot), *options, "--games", "3", "--parallel", "2"]) == 0
    assert "3 games: 3 Tie at 0:30" in capfd.readouterr().out
    write(bot, "Idle", what="raise ValueError('my mistake')")
    assert main(["play", str(bot), *options, "--games", "2"]) == 1
    assert capfd.readouterr().out.count("my mistake") >= 2


def test_what_a_file_does_when_it_is_imported_is_no_riddle(tmp_path: Path) -> None:
    reads = write(tmp_path / "reads.py", "Reads", "import argparse\nargparse.ArgumentParser().parse_args()")
    assert type(load_bot(reads).ai).__name__ == "Reads"  # and not the arguments of this process
    old = write(tmp_path / "old.py", "Old", "from sc2 import run_game")
    with pytest.raises(SettingsError, match=r"old cannot be loaded: cannot import name 'run_game'.*--door program"):
        load_bot(old)
    with pytest.raises(SettingsError, match="ended while it was loaded, with exit code 3"):
        load_bot(write(tmp_path / "ends.py", "Ends", "raise SystemExit(3)"))


RUN = """
import argparse, asyncio, sc2
from ours import Ours
import sc2
from sc2.data import Race
from sc2.main import play_from_websocket
from sc2.player import Bot
parser = argparse.ArgumentParser()
for flag in ("--LadderServer", "--GamePort", "--StartPort", "--OpponentId"):
    parser.add_argument(flag)
told = parser.parse_args()
assert sc2.MARK == 1 and told.OpponentId, "its own python-sc2"
url = f"ws://{told.LadderServer}:{told.GamePort}/sc2api"
asyncio.run(play_from_websocket(url, Bot(Race.Terran, Ours()), False, None))
"""


@pytest.mark.slow
def test_a_folder_that_brings_its_own_client_plays_as_on_a_ladder(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    imports = "from sc2.ids.unit_typeid import UnitTypeId as U"
    write(tmp_path / "own" / "ours.py", "Ours", imports, what="self.townhalls[0].train(U.SCV)")
    (tmp_path / "own" / "run.py").write_text(RUN, encoding="utf-8")
    installed = Path(sc2.__file__).parent
    own = [f"__path__ = [{str(installed)!r}]", "MARK = 1"]
    (tmp_path / "own" / "sc2").mkdir()
    (tmp_path / "own" / "sc2" / "__init__.py").write_text("\n".join(own), encoding="utf-8")
    assert main(["play", str(tmp_path / "own"), "--time-limit", "30"]) == 0
    assert "program: own against Random (Medium): Tie at 0:30" in (line := capfd.readouterr().out)
    assert "made 2 SCV" in line
    (tmp_path / "own" / "run.py").write_text("raise ValueError('a mistake')", encoding="utf-8")
    assert main(["play", str(tmp_path / "own")]) == 1
    said = capfd.readouterr()
    assert "error (the bot's program failed)" in said.out
    assert "joined no game" in said.err
    assert "a mistake" in said.err
