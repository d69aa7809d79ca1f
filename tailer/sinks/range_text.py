"""What a range delete or a truncate took away, as text: the conditions that CQL would have for it.

    {"start": {"at": 9}, "start_inclusive": false, "end": null}     at > 9, and at < 9 where `at` is ordered DESC

A bound is a prefix of the clustering columns and stands in their order, so that for a column ordered DESC what lies
behind it is smaller. Knows no table: who asks says which columns are ordered so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tailer.sinks.row_text import Fields, Range, field_texts, value_text
from tailer.sinks.text import printable

EVERYTHING: Final = "every row"
"""Neither side has a bound."""

Bound = Sequence[tuple[str, str]]
"""Name and value of each column that it has, in clustering order."""


def range_texts(deleted: Range, descending: Sequence[bool] | None) -> list[str]:
    """The conditions, the smaller values first, each but the first with AND in front of it.

    `descending`: by clustering column, None where no definition is known; then the bounds stand in clustering order.
    """
    if deleted.before is not None:
        return [f"before {':'.join(value_text(value) for value in deleted.before.values())}"]
    start, end = _bound(deleted.start), _bound(deleted.end)
    if descending is None or len(descending) < max(len(start), len(end)):
        return [_in_clustering_order(deleted)]
    shared = _shared(start, deleted.start_inclusive, end, deleted.end_inclusive)
    rest = descending[shared:]
    sides = [
        *_side(start[shared:], rest, deleted.start_inclusive, is_start=True),
        *_side(end[shared:], rest, deleted.end_inclusive, is_start=False),
    ]
    if rest and rest[0]:
        sides.reverse()
    conditions = [*(f"{name} = {value}" for name, value in start[:shared]), *sides]
    first, *more = conditions or [EVERYTHING]
    return [first, *(f"AND {condition}" for condition in more)]


def _bound(fields: Fields | None) -> Bound:
    return [(printable(name), value_text(value)) for name, value in (fields or {}).items()]


def _shared(start: Bound, start_inclusive: bool, end: Bound, end_inclusive: bool) -> int:
    """How many columns both bounds have with the same value: there each row has it."""
    count = 0
    for one, other in zip(start, end, strict=False):
        if one != other:
            break
        count += 1
    # What stands in the shared columns alone and is not inclusive says more than that they are equal.
    ends_early = (count == len(start) and not start_inclusive) or (count == len(end) and not end_inclusive)
    return count - 1 if count and ends_early else count


def _side(bound: Bound, descending: Sequence[bool], inclusive: bool, *, is_start: bool) -> list[str]:
    """The condition that a row lies on this side of a bound; none for a side that is open."""
    if not bound:
        return []
    signs = ["<" if down == is_start else ">" for down in descending[: len(bound)]]
    equal = "=" if inclusive else ""
    if len(bound) > 1 and len(set(signs)) == 1:
        names, values = (", ".join(parts) for parts in zip(*bound, strict=True))
        return [f"({names}) {signs[0]}{equal} ({values})"]
    (name, value), sign = bound[-1], signs[-1]
    text = f"{name} {sign}{equal} {value}"
    # Columns that are ordered in both ways: CQL has no comparison of them together, so it is spelled out.
    for (name, value), sign in reversed(list(zip(bound[:-1], signs, strict=False))):
        text = f"({name} {sign} {value} OR {name} = {value} AND {text})"
    return [text]


def _in_clustering_order(deleted: Range) -> str:
    """`[at=3 .. at=9)`: a square bracket where the bound itself is deleted too."""
    start, end = ",".join(field_texts(deleted.start)), ",".join(field_texts(deleted.end))
    opening = "[" if deleted.start is not None and deleted.start_inclusive else "("
    closing = "]" if deleted.end is not None and deleted.end_inclusive else ")"
    return f"{opening}{start or 'start'} .. {end or 'end'}{closing}"
