"""The core names no game: it asks the GameSpec. Words of a game stand only in that game's package."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "understudy"

WORDS = re.compile(
    r"zerg|protoss|terran|starcraft|\bsc2|(?<![a-z])races?(?![a-z])|difficult(?:y|ies)|shogi"
    r"|replays|replay_analysis|replayanalysis|replaysettings|build_?orders?\b",
    re.IGNORECASE,
)
"""Plain `replay` is a word of the core: experience is replayed, and a gym environment's actions are."""

ALLOWED = {
    "__init__.py": "the public names of games, where people have always imported them from",
    "experience/episode.py": "`opponent_race` is a field of the file format",
    "experience/notes.py": "`opponent_race` is a field of the file format",
    "experience/archive.py": "`opponent_race` is a field of the file format",
    "agent.py": "`opponent_race` is a documented argument",
    "extras.py": "libraries that are imported by another name than they are installed by",
    "ledger/tables.py": "columns of a ledger of version 3, which is migrated",
    "learner/process.py": "`enable_replay_analysis` is a documented argument; it switches on the work `replays`",
    "rundir.py": "`learned_build_orders.json` is a documented file of the run directory",
}
"""The files of the core that may say such a word, and why."""


def lines_with_game_words() -> dict[str, list[str]]:
    """File of the core → its lines that name a game or something of one."""
    found: dict[str, list[str]] = {}
    for path in sorted(p for kind in ("*.py", "*.css", "*.js") for p in SOURCE.rglob(kind)):
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith(("games/zerg/", "games/shogi/", "sc2/")):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if WORDS.search(line):
                found.setdefault(name, []).append(f"src/understudy/{name}:{number} {line.strip()}")
    return found


def test_only_the_listed_files_of_the_core_name_a_game() -> None:
    wrong = [line for name, lines in lines_with_game_words().items() if name not in ALLOWED for line in lines]
    assert not wrong, "\n" + "\n".join(wrong)


def test_every_exception_is_still_needed() -> None:
    assert ALLOWED.keys() == lines_with_game_words().keys()


def test_which_words_are_found() -> None:
    for said in ("opponent_race", "the race", "Difficulty", "ReplaySettings", "replays", "games.shogi.spec", "Zerg"):
        assert WORDS.search(said), said
    for said in (
        "v-trace",
        "self._traces",
        "leaves no trace",
        "TracebackType",
        "replay.py",
        "vtrace(",
        "_GRACE_SECONDS",
    ):
        assert not WORDS.search(said), said
