"""Where boxes and arrows of a picture in levels lie: few crossings, short ways, nothing on another. Knows no room.

An arrow over several levels passes each of those between in a lane; arrows to the same box share their lanes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, combinations, pairwise
from statistics import fmean
from typing import Final, NamedTuple

ORDERINGS, PLACINGS = 24, 80
STRAIGHT: Final = (1, 2, 8)
"""How much the two ends of a link pull at each other, by how many of them are lanes."""


class Item(NamedTuple):
    """What takes room in a row: a box, or with `lane` the lane of the arrows to it."""

    name: str
    row: int
    lane: bool = False


Link = tuple[Item, Item]
"""Part of an arrow, from a row to the next one below."""
Rows = list[list[Item]]
"""From the top; in each from left to right."""


def links(row_of: Mapping[str, int], arrows: Iterable[tuple[str, str]]) -> list[Link]:
    """Rows count from the top: an arrow leads to a higher one."""
    found = set()
    for source, target in arrows:
        above = Item(source, row_of[source])
        for row in range(row_of[source] + 1, row_of[target]):
            found.add((above, above := Item(target, row, lane=True)))
        found.add((above, Item(target, row_of[target])))
    return sorted(found)


def ordered(row_of: Mapping[str, int], parts: Sequence[Link]) -> Rows:
    """The rows with few crossings: each by turns in the order of what it is joined with above and below."""
    items = sorted({Item(name, row) for name, row in row_of.items()} | {item for link in parts for item in link})
    rows = [[item for item in items if item.row == number] for number in range(max(row_of.values()) + 1)]
    best, fewest = rows, _crossings(rows, parts)
    for sweep in range(ORDERINGS):
        joined = _joined(parts, above=sweep % 2 == 0)
        rows = [list(row) for row in rows]
        for row in rows if sweep % 2 == 0 else reversed(rows):
            _sort(row, {item: at / len(each) for each in rows for at, item in enumerate(each)}, joined)
        _swap(rows, parts)
        if (found := _crossings(rows, parts)) < fewest:
            best, fewest = rows, found
    return best


def placed(
    rows: Rows, parts: Sequence[Link], width: Callable[[Item], float], gap: float, span: tuple[float, float]
) -> dict[Item, float]:
    """The middle of each item within `span`: near what it is joined with, with a gap to its neighbours."""
    pulls = [_pulls(parts, above=True), _pulls(parts, above=False)]
    x = {item: sum(span) / 2 for row in rows for item in row}
    for sweep in range(PLACINGS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            near = [[x[other] for pull in pulls for other in pull.get(item, ())] for item in row]
            wanted = [fmean(places) if places else x[item] for places, item in zip(near, row, strict=True)]
            x |= zip(row, _spaced(wanted, [width(item) for item in row], gap, span), strict=True)
    return x


def _pulls(parts: Iterable[Link], *, above: bool) -> dict[Item, list[Item]]:
    """As `_joined`, but the straighter a way is to be, the oftener."""
    return _joined([link for link in parts for _ in range(STRAIGHT[link[0].lane + link[1].lane])], above=above)


def _joined(parts: Iterable[Link], *, above: bool) -> dict[Item, list[Item]]:
    """What each item is joined with in the row above it, or in the one below."""
    joined = defaultdict(list)
    for upper, lower in parts:
        if above:
            joined[lower].append(upper)
        else:
            joined[upper].append(lower)
    return joined


def _sort(row: list[Item], place: Mapping[Item, float], joined: Mapping[Item, Sequence[Item]]) -> None:
    near = {item: [place[other] for other in joined.get(item, ())] or [place[item]] for item in row}
    row.sort(key=lambda item: fmean(near[item]))


def _swap(rows: Rows, parts: Sequence[Link]) -> None:
    """Swaps neighbours as long as that takes crossings away."""
    fewest = _crossings(rows, parts)
    for row in rows:
        for at in range(len(row) - 1):
            row[at], row[at + 1] = row[at + 1], row[at]
            if (found := _crossings(rows, parts)) < fewest:
                fewest = found
            else:
                row[at], row[at + 1] = row[at + 1], row[at]


def _crossings(rows: Rows, parts: Iterable[Link]) -> int:
    place = {item: at for row in rows for at, item in enumerate(row)}
    ends: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for upper, lower in parts:
        ends[upper.row].append((place[upper], place[lower]))
    return sum((a - c) * (b - d) < 0 for there in ends.values() for (a, b), (c, d) in combinations(there, 2))


def _spaced(wanted: Sequence[float], widths: Sequence[float], gap: float, span: tuple[float, float]) -> list[float]:
    """As near to the wanted places as the order, the widths and the span allow, all together."""
    # Moved to the left by what stands before it, an item may lie anywhere that is not left of the one before.
    before = [0.0, *accumulate((one + other) / 2 + gap for one, other in pairwise(widths))]
    runs: list[list[float]] = []
    for place, moved in zip(wanted, before, strict=True):
        runs.append([place - moved])
        while len(runs) > 1 and fmean(runs[-2]) > fmean(runs[-1]):
            last = runs.pop()
            runs[-1] += last
    low, high = span[0] + widths[0] / 2, span[1] - widths[-1] / 2 - before[-1]
    free = [min(max(fmean(run), low), high) for run in runs for _ in run]
    return [place + moved for place, moved in zip(free, before, strict=True)]
