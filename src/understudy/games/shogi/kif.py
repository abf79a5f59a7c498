"""Game records in KIF format, which shogi programs with a user interface read and write."""

from __future__ import annotations

import re

import cshogi

from understudy.games.shogi.actions import BLACK, WHITE
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.handicaps import HANDICAPS
from understudy.games.shogi.notation import NAMES, RANKS, japanese
from understudy.games.shogi.record import GameRecord, judged, known, of_move
from understudy.games.shogi.rules import START, Ending, Result, ShogiGame
from understudy.games.shogi.thoughts import Thought

_DRAWS = {"千日手": Ending.REPETITION, "持将棋": Ending.IMPASSE, "引き分け": Ending.MAX_MOVES}
_LOSSES = {"投了": Ending.RESIGNATION, "詰み": Ending.MATE, "切れ負け": Ending.TIME, "反則負け": Ending.ILLEGAL_MOVE}
_WINS = {"入玉勝ち": Ending.DECLARATION, "反則勝ち": Ending.ILLEGAL_MOVE}
_ENDINGS = {ending: word for word, ending in (_DRAWS | _LOSSES | {"入玉勝ち": Ending.DECLARATION}).items()}
_MOVE = re.compile(
    r"(?:([１-９1-9])([一二三四五六七八九])|同[\s　]*)"
    r"(成[香桂銀]|[歩香桂銀金角飛玉王と杏圭全馬龍竜])(?:(打)|(不成|成)?\((\d)(\d)\))"
)


def to_text(record: GameRecord) -> str:
    """A record as KIF text; evaluations are comments."""
    game = ShogiGame(record.start, max_moves=len(record.moves) + 1)
    handicap = next((name for name, sfen in HANDICAPS.items() if sfen == record.start), None)
    lines = [f"手合割：{handicap}"] if handicap else game.board.to_bod().splitlines()
    lines += [f"先手：{' '.join(record.names[0].split())}", f"後手：{' '.join(record.names[1].split())}"]
    lines.append("手数----指手---------消費時間--")
    used = [0, 0]
    for number, usi in enumerate(record.moves):
        move = game.move_of_usi(usi)
        seconds = of_move(record.seconds, number) or 0
        used[game.turn] += seconds
        lines.append(f"{number + 1:4d} {japanese(usi, game)}   ({_times(seconds, used[game.turn])})")
        if (evaluation := record.evaluation(number)) is not None:
            lines.append(f"*評価値={evaluation}")
        lines += [f"*{' '.join(comment.split())}" for comment in of_move(record.comments, number) or ()]
        if (thought := record.thought(number)) is not None:
            lines.append(f"*{thought.as_text()}")
        game.push(move)
    lines.append(f"{len(record.moves) + 1:4d} {_ending(record.result, game.turn)}")
    return "\n".join(lines) + "\n"


def _times(seconds: int, used: int) -> str:
    """The time of a move, and the total time of its player."""
    return f"{seconds // 60:2d}:{seconds % 60:02d}/{used // 3600:02d}:{used // 60 % 60:02d}:{used % 60:02d}"


def from_text(text: str) -> GameRecord:
    """The main line of a KIF text; the variations after it are not read."""
    names, start, diagram = ["Black", "White"], START, {}
    lines = iter(text.splitlines())
    rows: list[str] = []
    for line in lines:
        key, colon, value = line.partition("：")
        if key.startswith("手数---"):
            break
        if line.startswith("|"):
            rows.append(line)
        elif line.strip() == "後手番":
            diagram["turn"] = "w"
        elif not colon:
            continue
        elif key in ("先手", "下手"):
            names[BLACK] = value.strip()
        elif key in ("後手", "上手"):
            names[WHITE] = value.strip()
        elif key in ("先手の持駒", "下手の持駒", "後手の持駒", "上手の持駒"):
            diagram["B" if key[0] in "先下" else "W"] = value
        elif key == "手合割" and value.strip() != "その他":
            if value.strip() not in HANDICAPS:
                raise GameError(f"The handicap {value.strip()!r} is not known; use a board diagram instead.")
            start = HANDICAPS[value.strip()]
    else:
        raise GameError("There is no line 手数----; this is not a game in KIF format.")
    return _moves(list(lines), _sfen(rows, diagram) if rows else start, (names[0], names[1]))


def _moves(lines: list[str], start: str, names: tuple[str, str]) -> GameRecord:
    game = ShogiGame(start, max_moves=1 << 20)
    evaluations: list[int | None] = []
    thoughts: list[Thought | None] = []
    seconds: list[int | None] = []
    result: Result | None = None
    for line in lines:
        if (match := re.match(r"\*評価値=(-?\d+)", line)) and evaluations:
            evaluations[-1] = int(match[1])
        elif line.startswith("*") and thoughts:
            thoughts[-1] = Thought.from_text(line[1:]) or thoughts[-1]
        match = re.match(r"\s*\d+\s+(\S.*)", line)
        if not match:
            if line.startswith("変化："):
                break
            continue
        word = match[1].split()[0]
        if word in _DRAWS | _LOSSES | _WINS | {"中断": None}:
            result = _result(word, game.turn)
            break
        try:
            game.push(game.move_of_usi(_usi(match[1], game)))
        except GameError as error:
            raise GameError(f"Move {len(game.moves) + 1}, {word}: {error}") from error
        evaluations.append(None)
        thoughts.append(None)
        time = re.search(r"\(\s*(\d{1,6}):(\d\d)\s*/", match[1])
        seconds.append(60 * int(time[1]) + int(time[2]) if time else None)
    told = known(evaluations), known(thoughts), tuple(seconds) if any(seconds) else ()
    return GameRecord(tuple(game.usi_moves()), start, names, judged(game, result), *told)


def _result(word: str, turn: int) -> Result | None:
    if word in _DRAWS:
        return Result(None, _DRAWS[word])
    if word in _LOSSES:
        return Result(1 - turn, _LOSSES[word])
    return Result(turn, _WINS[word]) if word in _WINS else None


def _ending(result: Result | None, turn: int) -> str:
    if result is None:
        return "中断"
    if result.ending in (Ending.PERPETUAL_CHECK, Ending.ILLEGAL_MOVE):
        return "反則勝ち" if result.winner == turn else "反則負け"
    return _ENDINGS[result.ending]


def _usi(text: str, game: ShogiGame) -> str:
    match = _MOVE.match(text)
    if not match:
        raise GameError(f"{text!r} is not a move in KIF format.")
    file, rank, name, dropped, promoted, from_file, from_rank = match.groups()
    if file is not None:
        target = f"{int(file)}{'abcdefghi'[RANKS.index(rank)]}"
    elif game.moves:
        target = cshogi.move_to_usi(game.moves[-1])[2:4]
    else:
        raise GameError(f"{text!r} refers to the square of the last move, but is the first move.")
    if dropped:
        return f"{NAMES[name]}*{target}"
    return f"{from_file}{'abcdefghi'[int(from_rank) - 1]}{target}{'+' * (promoted == '成')}"


def _sfen(rows: list[str], diagram: dict[str, str]) -> str:
    """The position in a board diagram."""
    written = []
    for row in rows:
        cells = re.findall(r"([ v])(\S)", row[1:].partition("|")[0])
        if len(cells) != 9:
            raise GameError(f"The row {row!r} of the board does not have nine squares.")
        letters = ["1" if name == "・" else _letter(name) for _, name in cells]
        text = "".join(
            letter.lower() if side == "v" else letter for (side, _), letter in zip(cells, letters, strict=True)
        )
        written.append(re.sub("1+", lambda run: str(len(run[0])), text))
    hands = "".join(_hand(diagram.get(side, "なし"), side) for side in "BW")
    return f"{'/'.join(written)} {diagram.get('turn', 'b')} {hands or '-'} 1"


def _letter(name: str) -> str:
    if name not in NAMES:
        raise GameError(f"{name!r} in the position is not a piece.")
    return NAMES[name]


def _hand(text: str, side: str) -> str:
    held = ""
    for item in text.split():
        if item == "なし":
            continue
        count = 1
        if item[1:]:
            tens = item[1:].startswith("十")
            count = 10 * tens + (RANKS.index(item[-1]) + 1 if item[-1] in RANKS else 0)
        letter = _letter(item[0])
        held += f"{count if count > 1 else ''}{letter if side == 'B' else letter.lower()}"
    return held
