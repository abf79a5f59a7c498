"""An analysis as one self-contained HTML file: the values as a curve, every move, diagrams of the mistakes."""

from __future__ import annotations

from pathlib import Path

from understudy.games.shogi.analysis import MARKS, WON, Analysis, ReviewedMove, chance, value_words
from understudy.games.shogi.pages.board import board
from understudy.games.shogi.players import outcome
from understudy.watch.dashboard.markup import Markup, join, tag

_STYLES = Path(__file__).with_name("pages")
_WIDTH, _HEIGHT = 800, 200
_DIAGRAMS = 24
"""The largest number of diagrams; the worst moves get them."""


def html_report(analysis: Analysis) -> str:
    """The whole page."""
    names = " – ".join(analysis.record.names)
    style = "".join((_STYLES / name).read_text(encoding="utf-8") for name in ("report.css", "board.css"))
    body = join(
        [
            tag("h1", names),
            tag(
                "p", f"{outcome(analysis.record.result)}, {len(analysis.moves)} moves. Analysed by {analysis.analyst}."
            ),
            _summary(analysis),
            tag("h2", "Chance to win"),
            tag("p", "Black's, from 0 % (bottom) to 100 % (top). Dots mark mistakes and blunders.", cls="muted"),
            curve(analysis),
            *_diagrams(analysis),
            tag("h2", "All moves"),
            _table(analysis),
        ]
    )
    head = join(
        [
            Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
            tag("title", names),
            Markup(f"<style>{style}</style>"),
        ]
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body><main>{body}</main></body></html>\n'


def _summary(analysis: Analysis) -> Markup:
    heads = tag("tr", tag("th", "Player"), *(tag("th", mark, title=name, cls="num") for mark, name, _ in MARKS))
    rows = []
    for player, name in enumerate(analysis.record.names):
        counted = analysis.counted(player).values()
        rows.append(tag("tr", tag("td", f"{'▲△'[player]} {name}"), *(tag("td", count, cls="num") for count in counted)))
    named = ", ".join(f"{mark} {name}" for mark, name, _ in MARKS)
    return join([tag("table", heads, *rows), tag("p", named, cls="muted")])


def curve(analysis: Analysis) -> Markup:
    """Black's probability of winning after every move, as SVG."""
    values = [analysis.first.value, *(move.value for move in analysis.moves)]
    step = _WIDTH / max(len(values) - 1, 1)
    points = [(number * step, _HEIGHT * (1 - chance(value))) for number, value in enumerate(values)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts = [
        tag("rect", x=0, y=0, width=_WIDTH, height=_HEIGHT, cls="plot"),
        tag("polygon", points=f"0,{_HEIGHT / 2} {line} {points[-1][0]:.1f},{_HEIGHT / 2}", cls="area"),
        tag("path", d=f"M0 {_HEIGHT / 2}H{_WIDTH}", cls="even"),
        tag("polyline", points=line, cls="curve"),
    ]
    for number in range(20, len(values), 20):
        parts.append(tag("path", d=f"M{number * step:.1f} 0V{_HEIGHT}", cls="grid"))
        parts.append(tag("text", number, x=f"{number * step:.1f}", y=_HEIGHT + 16, cls="axis"))
    for move in analysis.moves:
        if move.mark in ("?", "??"):
            x, y = points[move.number]
            title = tag("title", f"{move.number}. {move.written} {move.mark}")
            dot = tag("circle", title, cx=f"{x:.1f}", cy=f"{y:.1f}", r=5, cls=f"dot side{move.turn}")
            parts.append(tag("a", dot, href=f"#move{move.number}"))
    return tag(
        "svg",
        join(parts),
        viewBox=f"-6 -8 {_WIDTH + 12} {_HEIGHT + 30}",
        role="img",
        aria_label="chance to win",
        cls="graph",
    )


def _diagrams(analysis: Analysis) -> list[Markup]:
    marked = sorted((move for move in analysis.moves if move.mark), key=lambda move: -move.loss)[:_DIAGRAMS]
    if not marked:
        return [tag("h2", "Mistakes"), tag("p", "No mistakes found.")]
    shown = [_diagram(analysis, move) for move in sorted(marked)]
    last = tag("figure", board(analysis.positions[-1], analysis.moves[-1].usi), tag("figcaption", "The last position."))
    return [tag("h2", "Mistakes"), tag("div", *shown, last, cls="diagrams")]


def _diagram(analysis: Analysis, move: ReviewedMove) -> Markup:
    lost = f"{100 * move.loss:.0f} % of the chance to win lost; then {value_words(move.value)}."
    played = tag("b", f"{move.number}. {'▲△'[move.turn]}{move.written} {move.mark}")
    best = tag("div", tag("span", "Best: ", cls="muted"), " ".join(move.best)) if move.best else ""
    caption = tag("figcaption", played, tag("div", lost), best, tag("div", "The position before it:", cls="muted"))
    return tag("figure", caption, board(analysis.positions[move.number - 1], move.usi))


def _table(analysis: Analysis) -> Markup:
    heads = tag("tr", *(tag("th", head) for head in ("", "Move", "USI", "Value", "", "Best line")))
    rows = []
    for move in analysis.moves:
        same = move.best_usi == move.usi
        cells = (
            tag("td", move.number, cls="num"),
            tag("td", f"{'▲△'[move.turn]}{move.written}"),
            tag("td", move.usi, cls="usi"),
            tag("td", value_words(move.value) if abs(move.value) < WON else "end", cls="num"),
            tag("td", move.mark, cls="mark"),
            tag("td", " ".join(move.best), cls="muted" if same else "line"),
        )
        rows.append(tag("tr", *cells, id=f"move{move.number}", cls=move.name or None))
    return tag("div", tag("table", heads, *rows), cls="scroll")
