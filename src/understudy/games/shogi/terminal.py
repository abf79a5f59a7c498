"""Shogi in the terminal, against anybody who can play."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import cshogi

from understudy.games.shogi.actions import BLACK
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.players import ShogiPlayer, outcome
from understudy.games.shogi.record import record_of
from understudy.games.shogi.record_files import write_record
from understudy.games.shogi.rules import ShogiGame

HELP = "Moves are like 7g7f, 8h2b+ (promoting) or P*5e (a drop). Other words: moves, undo, resign, quit."


def drawn(game: ShogiGame) -> str:
    """The board as text: capitals are Black's, + is promoted, files and ranks are those of USI."""
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
) -> ShogiGame:
    """A person against `opponent`; the game is saved, with what the opponent thought, however it ends."""
    game = ShogiGame()
    values: list[int | None] = []
    say(HELP)
    try:
        while game.result is None:
            if game.turn != human:
                _answer(game, opponent, values, say)
                continue
            say(drawn(game))
            if not _obey(game, ask("Your move: ").strip(), values, say):
                break
    except EOFError:
        say("")
    say(drawn(game))
    say(f"The game is over: {outcome(game.result)}.")
    if save is not None:
        names = ("You", opponent.name) if human == BLACK else (opponent.name, "You")
        known = tuple(values) if any(value is not None for value in values) else ()
        write_record(save, record_of(game, names, known))
        say(f"Saved as {save}.")
    return game


def _answer(game: ShogiGame, opponent: ShogiPlayer, values: list[int | None], say: Callable[[str], None]) -> None:
    turn = game.turn
    choice = opponent.choose(game)
    if choice.move is None:
        say(f"{opponent.name} resigns.")
        game.resign()
        return
    say(f"{opponent.name} plays {cshogi.move_to_usi(choice.move)}" + _thinks(choice.value))
    values.append(None if choice.value is None else choice.value if turn == BLACK else -choice.value)
    game.push(choice.move)


def _thinks(value: int | None) -> str:
    return "." if value is None else f" (its own view: {value:+d})."


def _obey(game: ShogiGame, words: str, values: list[int | None], say: Callable[[str], None]) -> bool:
    """Do what the person typed; False to leave."""
    match words:
        case "quit":
            return False
        case "resign":
            game.resign()
        case "moves":
            say(" ".join(sorted(cshogi.move_to_usi(move) for move in game.legal_moves)))
        case "undo":
            for _ in range(min(2, len(game.moves) // 2 * 2)):
                game.pop()
                values.pop()
        case "" | "help":
            say(HELP)
        case _:
            try:
                game.push_usi(words)
            except GameError as error:
                say(f"{error} {HELP}")
            else:
                values.append(None)
    return True
