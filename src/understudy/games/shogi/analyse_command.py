"""`understudy analyse`: prints moves as they are analysed, then writes a KIF file with comments and an HTML report."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from contextlib import ExitStack

from understudy.errors import SettingsError
from understudy.files.atomic import write_atomically
from understudy.games.shogi.analysis import MARKS, ReviewedMove, analyse, value_words
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.opponents import make_player
from understudy.games.shogi.record_files import read_records, write_record
from understudy.games.shogi.report import html_report
from understudy.games.shogi.usi_process import find_engines

_DEFAULT = "fairy-stockfish"


def run_analyse(options: argparse.Namespace) -> int:
    """Analyse a game from a file, as the command line asks."""
    records = [record for record in read_records(options.file) if record.moves]
    if not records:
        raise GameError(f"{options.file} holds no game with a move.")
    if options.game > len(records):
        raise SettingsError(f"{options.file} holds {len(records)} games; there is no game {options.game}.")
    record = records[options.game - 1]
    if options.player is None and _DEFAULT not in find_engines():
        raise SettingsError(f"{_DEFAULT} is not installed: name another analyst, such as a checkpoint (.npz).")
    if options.player in ("random", "greedy"):
        raise SettingsError(f"{options.player} gives no values: name an engine or a checkpoint (.npz) to analyse.")
    if len(records) > 1:
        print(f"Game {options.game} of {len(records)}.")
    print(f"{' – '.join(record.names)}, {len(record.moves)} moves")
    progress = AnalysisProgress(len(record.moves))
    with ExitStack() as stack:
        analyst = make_player(options.player or _DEFAULT, options, 0, stack)
        found = analyse(record, analyst, options.mate_nodes, progress.take_in)
    progress.clear()
    for player, name in enumerate(record.names):
        counts = ", ".join(
            f"{count} {mark}" for (mark, _, _), count in zip(MARKS, found.counted(player).values(), strict=True)
        )
        print(f"{'▲△'[player]} {name}: {counts}")
    folder = options.save or options.file.parent
    folder.mkdir(parents=True, exist_ok=True)
    number = f".{options.game}" if len(records) > 1 else ""
    stem = f"{options.file.stem}{number}.analysed"
    write_record(folder / f"{stem}.kifu", found.commented())
    page = html_report(found).encode()
    write_atomically(folder / f"{stem}.html", lambda stream: stream.write(page), durable=False)
    print(f"Saved {folder / stem}.kifu and {folder / stem}.html.")
    return 0


class AnalysisProgress:
    """Prints a line for every analysed move and, on a terminal, the progress."""

    def __init__(self, moves: int) -> None:
        self._moves = moves
        self._begun = time.monotonic()
        self._shown = 0

    def take_in(self, move: ReviewedMove) -> None:
        """Show a move and the remaining time."""
        self.clear()
        best = f"  best {move.best[0]}" if move.best and move.best_usi != move.usi else ""
        who = "▲△"[move.turn]
        print(
            f"{move.number:>4} {who}{move.written:<8} {move.usi:<6} {value_words(move.value):>8} {move.mark:<2}{best}",
            flush=True,
        )
        if sys.stdout.isatty():
            left = (time.monotonic() - self._begun) / move.number * (self._moves - move.number)
            line = f"move {move.number} of {self._moves}, about {left:.0f} s left"[
                : shutil.get_terminal_size().columns - 1
            ]
            print(line, end="", flush=True)
            self._shown = len(line)

    def clear(self) -> None:
        """Remove the line from the terminal."""
        if self._shown:
            print(f"\r{'':{self._shown}}\r", end="", flush=True)
        self._shown = 0
