"""Game records in CSA format, version 2.2: the format of computer shogi and its tournaments."""

from __future__ import annotations

import re
from collections.abc import Sequence

import cshogi

from understudy.games.shogi.actions import BLACK, WHITE
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.record import GameRecord, judged, known, of_move
from understudy.games.shogi.rules import START, Ending, Result, ShogiGame
from understudy.games.shogi.thoughts import Thought

_PIECES = {
    "FU": "P", "KY": "L", "KE": "N", "GI": "S", "KI": "G", "KA": "B", "HI": "R", "OU": "K",
    "TO": "+P", "NY": "+L", "NK": "+N", "NG": "+S", "UM": "+B", "RY": "+R",
}  # fmt: skip
_SET = {"HI": 2, "KA": 2, "KI": 4, "GI": 4, "KE": 4, "KY": 4, "FU": 18}  # in the order of SFEN
_DRAWS = {"%SENNICHITE": Ending.REPETITION, "%JISHOGI": Ending.IMPASSE, "%HIKIWAKE": Ending.IMPASSE,
          "%MAX_MOVES": Ending.MAX_MOVES}  # fmt: skip
_LOSSES = {"%TORYO": Ending.RESIGNATION, "%TSUMI": Ending.MATE, "%TIME_UP": Ending.TIME,
           "%ILLEGAL_MOVE": Ending.ILLEGAL_MOVE}  # fmt: skip
_WRITTEN = {ending: word for word, ending in reversed((_DRAWS | _LOSSES).items())} | {Ending.DECLARATION: "%KACHI"}


def to_text(record: GameRecord) -> str:
    """A record as CSA text; evaluations are comments in floodgate's format."""
    game = ShogiGame(record.start, max_moves=len(record.moves) + 1)
    lines = ["V2.2", f"N+{_line(record.names[0])}", f"N-{_line(record.names[1])}"]
    lines += ["PI", "+"] if record.start == START else game.board.csa_pos().splitlines()
    for number, usi in enumerate(record.moves):
        move = game.move_of_usi(usi)
        lines.append(written(move, game.turn))
        if (seconds := of_move(record.seconds, number)) is not None:
            lines.append(f"T{seconds}")
        if (evaluation := record.evaluation(number)) is not None:
            expected = of_move(record.lines, number) or ()
            lines.append(" ".join(["'**", str(evaluation), *line_of(game, (usi, *expected))[1:]]))
        lines += [f"'{_line(comment)}" for comment in of_move(record.comments, number) or ()]
        if (thought := record.thought(number)) is not None:
            lines.append(f"'{thought.as_text()}")
        game.push(move)
    lines.append(_ending(record.result, game.turn))
    return "\n".join(lines) + "\n"


def written(move: int, turn: int) -> str:
    """A cshogi move of a player in CSA, such as +7776FU."""
    return "+-"[turn] + str(cshogi.move_to_csa(move))


def line_of(game: ShogiGame, moves: Sequence[str]) -> list[str]:
    """USI moves in CSA, starting at the game's position, up to the first illegal one; the game is not changed."""
    found: list[str] = []
    for usi in moves:
        try:
            move = game.move_of_usi(usi)
        except GameError:
            break
        found.append(written(move, game.turn))
        game.push(move)
    for _ in found:
        game.pop()
    return found


def move_of(text: str, game: ShogiGame) -> int:
    """The legal cshogi move in a game for a CSA move such as +7776FU; GameError if there is none."""
    return game.move_of_usi(_usi(text, game))


def from_text(text: str) -> list[GameRecord]:
    """All games of a CSA text; they are separated by lines with a slash."""
    games = [part for part in re.split(r"^/\s*$", text, flags=re.MULTILINE) if part.strip()]
    return [_read(part.splitlines()) for part in games]


def _line(text: str) -> str:
    return " ".join(text.split())


def _ending(result: Result | None, turn: int) -> str:
    if result is None:
        return "%CHUDAN"
    if result.ending is Ending.PERPETUAL_CHECK:
        return "%-ILLEGAL_ACTION" if result.winner == BLACK else "%+ILLEGAL_ACTION"
    if result.winner == turn and result.ending is not Ending.DECLARATION:  # it names the loser, who is to move
        return "%-ILLEGAL_ACTION" if result.winner == BLACK else "%+ILLEGAL_ACTION"
    return _WRITTEN[result.ending]


def position_of(lines: Sequence[str], turn: str) -> str:
    """The position, in SFEN, of lines P1 to P9, PI, P+ and P-, and the player to move, + or -."""
    return _sfen(list(lines), turn)


def _result(word: str, turn: int) -> Result | None:
    if word in _DRAWS:
        return Result(None, _DRAWS[word])
    if word in _LOSSES:
        return Result(1 - turn, _LOSSES[word])
    if word == "%KACHI":
        return Result(turn, Ending.DECLARATION)
    if word in ("%+ILLEGAL_ACTION", "%-ILLEGAL_ACTION"):
        return Result(WHITE if word[1] == "+" else BLACK, Ending.ILLEGAL_MOVE)
    return None


def _read(lines: list[str]) -> GameRecord:
    names, position, result = ["Black", "White"], [], None
    evaluations: list[int | None] = []
    thoughts: list[Thought | None] = []
    seconds: list[int | None] = []
    game: ShogiGame | None = None
    for line in _statements(lines):
        if line[:2] in ("N+", "N-"):
            names["+-".index(line[1])] = line[2:]
        elif line.startswith("P"):
            position.append(line)
        elif line in ("+", "-"):
            game = ShogiGame(_sfen(position, line), max_moves=1 << 20)
        elif line[:1] in ("+", "-") and game is not None:
            game.push(game.move_of_usi(_usi(line, game)))
            evaluations.append(None)
            thoughts.append(None)
            seconds.append(None)
        elif re.fullmatch(r"T\d{1,9}", line) and seconds:
            seconds[-1] = int(line[1:])
        elif (match := re.match(r"'\*\* (-?\d{1,9})", line)) and evaluations:
            evaluations[-1] = int(match[1])
        elif line.startswith("'") and thoughts:
            thoughts[-1] = Thought.from_text(line[1:]) or thoughts[-1]
        elif line.startswith("%") and game is not None:
            result = _result(line, game.turn)
            break
    if game is None:
        raise GameError("There is no line + or -, which says who moves first; this is not a game in CSA format.")
    told = known(evaluations), known(thoughts), known(seconds)
    return GameRecord(tuple(game.usi_moves()), game.start, (names[0], names[1]), judged(game, result), *told)


def _statements(lines: list[str]) -> list[str]:
    """Commas separate statements, but not within comments, names and the like."""
    return [part.strip() for line in lines for part in ([line] if line[:1] in "'N$" else line.split(","))]


def _usi(text: str, game: ShogiGame) -> str:
    match = re.fullmatch(r"([+-])(\d)(\d)([1-9])([1-9])([A-Z]{2})", text)
    if not match or match[6] not in _PIECES or "+-".index(match[1]) != game.turn:
        raise GameError(f"{text!r} is not a move of {('Black', 'White')[game.turn]} in CSA format.")
    target = f"{match[4]}{'abcdefghi'[int(match[5]) - 1]}"
    piece = _PIECES[match[6]]
    if match[2] + match[3] == "00":
        return f"{piece}*{target}"
    if "0" in (match[2], match[3]):
        raise GameError(f"{text!r} does not begin on a square.")
    before = game.board.piece_type(9 * (int(match[2]) - 1) + int(match[3]) - 1)
    promotes = piece.startswith("+") and before < cshogi.PROM_PAWN
    return f"{match[2]}{'abcdefghi'[int(match[3]) - 1]}{target}{'+' * promotes}"


def _sfen(lines: list[str], turn: str) -> str:
    """The first position: PI with removed pieces, or nine rows, then single pieces and hands."""
    board: dict[tuple[int, int], str] = {}
    hands = {"+": dict.fromkeys(_SET, 0), "-": dict.fromkeys(_SET, 0)}
    for line in lines:
        if line.startswith("PI"):
            board = _start_board()
            for file, rank, _ in re.findall(r"([1-9])([1-9])([A-Z]{2})", line[2:]):
                board.pop((int(file), int(rank)), None)
        elif re.match(r"P[1-9]", line):
            for column, cell in enumerate(re.findall(r"[+-][A-Z]{2}| \* ?", line[2:])):
                if cell[0] in "+-":
                    board[9 - column, int(line[1])] = _letter(cell[1:], cell[0])
        elif line[:2] in ("P+", "P-"):
            _place(line, board, hands)
    rows = []
    for rank in range(1, 10):
        row = "".join(board.get((file, rank), "1") for file in range(9, 0, -1))
        rows.append(re.sub("1+", lambda run: str(len(run[0])), row))
    held = "".join(
        f"{count if count > 1 else ''}{_letter(piece, side)}"
        for side in "+-"
        for piece, count in hands[side].items()
        if count
    )
    return f"{'/'.join(rows)} {'b' if turn == '+' else 'w'} {held or '-'} 1"


def _place(line: str, board: dict[tuple[int, int], str], hands: dict[str, dict[str, int]]) -> None:
    for file, rank, piece in re.findall(r"(\d)(\d)([A-Z]{2})", line[2:]):
        if file + rank != "00":
            board[int(file), int(rank)] = _letter(piece, line[1])
        elif piece == "AL":  # all pieces that are nowhere else
            for kind, count in _SET.items():
                used = sum(letter.upper().lstrip("+") == _PIECES[kind] for letter in board.values())
                hands[line[1]][kind] = count - used - hands["+"][kind] - hands["-"][kind]
        elif piece in _SET:
            hands[line[1]][piece] += 1
        else:
            raise GameError(f"{piece} cannot be in hand.")


def _start_board() -> dict[tuple[int, int], str]:
    rows = START.split()[0].split("/")
    spread = [re.sub(r"\d", lambda run: "1" * int(run[0]), row) for row in rows]
    return {(9 - c, r + 1): spread[r][c] for r in range(9) for c in range(9) if spread[r][c] != "1"}


def _letter(piece: str, side: str) -> str:
    if piece not in _PIECES:
        raise GameError(f"{piece} is not a piece in CSA format.")
    return _PIECES[piece] if side == "+" else _PIECES[piece].lower()
