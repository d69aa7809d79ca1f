"""A picture of boxes in levels as SVG, by hand: own background, no font of its own, same bytes for the same boxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Final

from scripts.picture_layout import Item, Link, links, ordered, placed
from scripts.picture_rooms import Box
from tests.house.import_graph import Arrows

WIDTH: Final = 1000
SPAN: Final = (52.0, 984.0)
TOP, BELOW = 18, 44
BETWEEN_ROWS: Final = 44
GAP: Final = 16
LANE: Final = 4
BOX_MAX: Final = 250.0
PADDING: Final = 10
NAME_HEIGHT, LINE_HEIGHT = 20, 15
LETTER, NAME_LETTER = 6.4, 8.2
"""Widest that a letter is on average, in whatever font there is."""
PORT: Final = 20
"""Between the ends of arrows at one box."""

COLOURS: Final = ("#2f6db5", "#c0562b", "#2e8b57", "#8450b0", "#a87d12", "#178a94", "#b83b6b", "#5f6b7a")
STYLE: Final = """\
text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2630 }
.name { font-size: 14px; font-weight: 600 }
.line { font-size: 12px; fill: #4a5462 }
.small { font-size: 12px; fill: #7b8592 }
.box { fill: #ffffff; stroke-width: 1.6 }
.under { fill: none; stroke: #f7f8fa; stroke-width: 5 }
.arrow { fill: none; stroke-width: 1.7 }"""
LEGEND: Final = (
    "An arrow leads from who imports to what is imported, in the colour of that; arrows to one room share their way.",
    "Left out are imports that follow from others. The numbers are the levels: a room imports from lower ones only.",
)


class _Drawing:
    """Where everything lies. Rows are numbered from the top."""

    def __init__(self, boxes: Mapping[str, Box], arrows: Arrows) -> None:
        self.boxes = boxes
        self.levels = sorted({box.level for box in boxes.values()}, reverse=True)
        row_of = {name: self.levels.index(box.level) for name, box in boxes.items()}
        self.links = links(row_of, arrows)
        self.rows = ordered(row_of, self.links)
        self._box_width = [_box_width(row) for row in self.rows]
        self.x = placed(self.rows, self.links, self.width, GAP, SPAN)
        self.lines = {name: self._wrapped(Item(name, row_of[name])) for name in boxes}
        self.height = [max(_height(*self.lines[item.name]) for item in row if not item.lane) for row in self.rows]
        self.top = [TOP + sum(self.height[:row]) + row * BETWEEN_ROWS for row in range(len(self.rows))]
        self.colour: dict[str, str] = {}
        for name in (item.name for row in self.rows for item in row if not item.lane):
            self.colour[name] = self._colour(name)

    def width(self, item: Item) -> float:
        return LANE if item.lane else self._box_width[item.row]

    def ends(self, link: Link) -> tuple[float, float]:
        """Where a link leaves the item above and reaches the one below."""
        upper, lower = link
        leaving = [other for other in self.links if other[0] == upper]
        coming = [other for other in self.links if other[1] == lower]
        return self._port(upper, leaving, link, 1), self._port(lower, coming, link, 0)

    def _port(self, item: Item, here: Sequence[Link], link: Link, far: int) -> float:
        if item.lane:
            return self.x[item]
        at = sorted(here, key=lambda each: self.x[each[far]]).index(link)
        step = min(PORT, (self.width(item) - 2 * PADDING) / len(here))
        return self.x[item] + (at - (len(here) - 1) / 2) * step

    def _wrapped(self, item: Item) -> tuple[list[str], list[str]]:
        """The lines of the name, and those of what the room does."""
        room = self.width(item) - 2 * PADDING
        return wrap(item.name, int(room / NAME_LETTER)), wrap(self.boxes[item.name].line, int(room / LETTER))

    def _colour(self, name: str) -> str:
        """One that no arrow has beside its own arrows, if there is, and that few boxes have."""
        rows = {upper.row for upper, lower in self.links if lower.name == name}
        beside = {lower.name for upper, lower in self.links if upper.row in rows}
        taken = Counter(self.colour[other] for other in beside if other in self.colour)
        used = Counter(self.colour.values())
        return min(COLOURS, key=lambda colour: (taken[colour], used[colour]))


def svg(boxes: Mapping[str, Box], arrows: Arrows) -> str:
    drawing = _Drawing(boxes, arrows)
    bottom = drawing.top[-1] + drawing.height[-1]
    height = bottom + BELOW + LINE_HEIGHT * len(LEGEND)
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
            "<title>The rooms of cdc-tail and what they import</title>",
            f"<style>\n{STYLE}\n</style>",
            *_heads(),
            f'<rect width="{WIDTH}" height="{height}" rx="10" fill="#f7f8fa"/>',
            *(path for link in drawing.links for path in _arrow(drawing, link)),
            *(part for row in drawing.rows for item in row if not item.lane for part in _box(drawing, item)),
            *(_level(drawing, row) for row in range(len(drawing.rows))),
            *(
                _text("small", SPAN[0], bottom + BELOW + number * LINE_HEIGHT, line)
                for number, line in enumerate(LEGEND)
            ),
            "</svg>",
            "",
        ]
    )


def _heads() -> Iterator[str]:
    for number, colour in enumerate(COLOURS):
        yield (
            f'<marker id="head{number}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 L8 4 L0 8 Z" fill="{colour}"/></marker>'
        )


def _arrow(drawing: _Drawing, link: Link) -> Iterator[str]:
    """One part of it: to the row below, and through that row where its box lies lower still."""
    upper, lower = link
    start, end = drawing.ends(link)
    above, below = drawing.top[upper.row] + drawing.height[upper.row], drawing.top[lower.row]
    half = BETWEEN_ROWS / 2
    way = f"M{start:.1f} {above} C{start:.1f} {above + half:.1f} {end:.1f} {below - half:.1f} {end:.1f} {below}"
    if lower.lane:
        way += f" V{below + drawing.height[lower.row]}"
    colour = drawing.colour[lower.name]
    head = "" if lower.lane else f' marker-end="url(#head{COLOURS.index(colour)})"'
    yield f'<path class="under" d="{way}"/>'
    yield f'<path class="arrow" d="{way}" stroke="{colour}"{head}/>'


def _box(drawing: _Drawing, item: Item) -> Iterator[str]:
    width, height, top = drawing.width(item), drawing.height[item.row], drawing.top[item.row]
    left, (names, lines) = drawing.x[item] - width / 2, drawing.lines[item.name]
    yield (
        f'<rect class="box" x="{left:.1f}" y="{top}" width="{width:.1f}" height="{height}" rx="6" '
        f'stroke="{drawing.colour[item.name]}"/>'
    )
    for number, line in enumerate(names, 1):
        yield _text("name", left + PADDING, top + number * NAME_HEIGHT, line)
    for number, line in enumerate(lines, 1):
        yield _text("line", left + PADDING, top + len(names) * NAME_HEIGHT + number * LINE_HEIGHT, line)


def _level(drawing: _Drawing, row: int) -> str:
    return _text("small", PADDING, drawing.top[row] + NAME_HEIGHT, str(drawing.levels[row]))


def _text(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text, quote=False)}</text>'


def _box_width(row: Sequence[Item]) -> float:
    """The same for all boxes of a row."""
    lanes = sum(item.lane for item in row)
    boxes = len(row) - lanes
    return min(BOX_MAX, (SPAN[1] - SPAN[0] - lanes * LANE - (len(row) - 1) * GAP) / boxes)


def _height(names: Sequence[str], lines: Sequence[str]) -> int:
    return NAME_HEIGHT * len(names) + LINE_HEIGHT * len(lines) + PADDING
