"""Shogi in the terminal, against any player."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import cshogi

from understudy.games.shogi.actions import BLACK
from understudy.games.shogi.clock import Clocks
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.handicaps import HANDICAP_NAMES, HANDICAPS
from understudy.games.shogi.mate import mate_of
from understudy.games.shogi.notation import japanese, japanese_line, typed_move
from understudy.games.shogi.players import MoveChoice, ShogiPlayer, outcome
from understudy.games.shogi.record import record_of
from understudy.games.shogi.record_files import write_record
from understudy.games.shogi.rules import START, Ending, ShogiGame

HELP = (
    "Moves are like 7g7f, 8h2b+ (promoting) or P*5e (a drop), or like ７六歩, 76歩, ２二角成, ５五歩打.\n"
    "Other words: moves, hint, undo, board, sfen, resign, quit."
)
Notation = Literal["usi", "japanese"]


def start_of(position: str | None, handicap: str | None) -> str:
    """The SFEN of the first position, as the command line asks."""
    if handicap is not None:
        return HANDICAPS[HANDICAP_NAMES[handicap]]
    if position is None or position.strip() == "startpos":
        return START
    fields = position.removeprefix("sfen ").split()
    sfen = " ".join([*fields, "-", "1"][:4] if len(fields) == 2 else [*fields, "1"][:4])
    if (result := ShogiGame(sfen).result) is not None:
        raise GameError(f"The game is over in {sfen!r}: {outcome(result)}.")
    return sfen


def drawn(game: ShogiGame) -> str:
    """The board as text: capitals are Black's pieces, + is promoted, files and ranks are those of USI."""
    rows, turn, hands, _ = game.board.sfen().split()
    lines = ["   9  8  7  6  5  4  3  2  1"]
    for rank, row in zip("abcdefghi", rows.split("/"), strict=True):
        spread = re.sub(r"\d", lambda run: "." * int(run[0]), row)
        cells = "".join(f"{piece:>3}" for piece in re.findall(r"\+?[A-Za-z.]", spread))
        lines.append(f" {cells}  {rank}")
    held = [_hand(hands, str.isupper), _hand(hands, str.islower)]
    lines.append(f"In hand: Black {held[0]}, White {held[1]}. {'Black' if turn == 'b' else 'White'} to move.")
    return "\n".join(lines)


def _hand(hands: str, mine: Callable[[str], bool]) -> str:
    items = [number + piece for number, piece in re.findall(r"(\d*)([A-Za-z])", hands) if mine(piece)]
    return " ".join(items) or "nothing"


def play_in_terminal(
    opponent: ShogiPlayer,
    human: int = BLACK,
    save: Path | None = None,
    ask: Callable[[str], str] = input,
    say: Callable[[str], None] = print,
    *,
    start: str = START,
    clocks: Clocks | None = None,
    notation: Notation = "usi",
) -> ShogiGame:
    """Let a person play against `opponent`; the game is saved, with the opponent's evaluations, however it ends."""
    game = TerminalGame(opponent, human, say, start, clocks, notation)
    say(HELP)
    try:
        game.play(ask)
    except EOFError:
        say("")
    say(drawn(game.game))
    say(f"The game is over: {outcome(game.game.result)}.")
    if save is not None:
        names = ("You", opponent.name) if human == BLACK else (opponent.name, "You")
        known = tuple(game.values) if any(value is not None for value in game.values) else ()
        write_record(save, record_of(game.game, names, known))
        say(f"Saved as {save}.")
    return game.game


class TerminalGame:
    """A game in progress between a person and a player."""

    def __init__(
        self,
        opponent: ShogiPlayer,
        human: int,
        say: Callable[[str], None],
        start: str = START,
        clocks: Clocks | None = None,
        notation: Notation = "usi",
    ) -> None:
        self.game = ShogiGame(start)
        self.values: list[int | None] = []
        self._opponent, self._human, self._say = opponent, human, say
        self._clocks, self._notation = clocks, notation
        self._shown = -1  # number of moves when the board was last drawn

    def play(self, ask: Callable[[str], str]) -> None:
        """Play until the game ends or the person leaves."""
        game = self.game
        while game.result is None:
            if game.turn != self._human:
                self._answer()
                continue
            if self._shown != len(game.moves):
                self._show_board()
            begun = time.monotonic()
            words = ask(self._prompt()).strip()
            if not self._charge(self._human, time.monotonic() - begun):
                self._say("Your time is up.")
            elif not self._obey(words):
                break

    def _show_board(self) -> None:
        self._say(drawn(self.game))
        self._shown = len(self.game.moves)

    def _prompt(self) -> str:
        if self._clocks is None:
            return "Your move: "
        left, byoyomi = self._clocks.left[self._human], self._clocks.byoyomi
        more = f" and {byoyomi:g} s a move" if byoyomi else ""
        return f"Your move ({int(left) // 60}:{int(left) % 60:02d}{more}): "

    def _charge(self, player: int, seconds: float) -> bool:
        """Subtract the time of a move from a player's clock; if there was not enough, the game is lost."""
        if self._clocks is None or self._clocks.charge(player, seconds):
            return True
        self.game.lose(Ending.TIME)
        return False

    def _answer(self) -> None:
        game, name = self.game, self._opponent.name
        turn, begun = game.turn, time.monotonic()
        choice = self._opponent.choose(game)
        if not self._charge(turn, time.monotonic() - begun):
            self._say(f"{name} has no time left.")
            return
        if choice.move is None:
            self._say(f"{name} resigns.")
            game.resign()
            return
        self._say(f"{name} plays {self._written(choice.move)}" + _thinks(choice.value))
        self.values.append(None if choice.value is None else choice.value if turn == BLACK else -choice.value)
        game.push(choice.move)

    def _written(self, move: int) -> str:
        usi = str(cshogi.move_to_usi(move))
        return japanese(usi, self.game) if self._notation == "japanese" else usi

    def _obey(self, words: str) -> bool:
        """Execute what the person typed; False to leave."""
        game = self.game
        match words:
            case "quit":
                return False
            case "resign":
                game.resign()
            case "moves":
                self._say(" ".join(sorted(self._written(move) for move in game.legal_moves)))
            case "hint":
                self._hint()
            case "board":
                self._show_board()
            case "sfen":
                self._say(game.board.sfen())
            case "undo":
                self._undo()
            case "" | "help":
                self._say(HELP)
            case _:
                try:
                    game.push(typed_move(words, game))
                except GameError as error:
                    self._say(f"{error} {HELP}")
                else:
                    self.values.append(None)
        return True

    def _undo(self) -> None:
        """Take back the person's last move and the answer to it."""
        own = [n for n in range(len(self.game.moves)) if (self.game.turn + len(self.game.moves) - n) % 2 == self._human]
        if not own:
            self._say("There is no move of yours to take back.")
            return
        while len(self.game.moves) > own[-1]:
            self.game.pop()
            self.values.pop()

    def _hint(self) -> None:
        """Print the move of the mate search or, without one, the opponent's. The time is charged to nobody."""
        mate = mate_of(self.game).line
        choice = MoveChoice(mate[0]) if mate else self._opponent.choose(self.game)
        if choice.move is None:
            self._say(f"{self._opponent.name} would resign here.")
            return
        line = tuple(map(cshogi.move_to_usi, mate)) or choice.line or (str(cshogi.move_to_usi(choice.move)),)
        shown = " ".join(japanese_line(line[:6], self.game) if self._notation == "japanese" else line[:6])
        about = f", mate in {len(mate)}" if mate else "" if choice.value is None else f" ({choice.value:+d} for you)"
        self._say(f"Hint: {shown}{about}")


def _thinks(value: int | None) -> str:
    return "." if value is None else f" (its own view: {value:+d})."
