"""What is asked of each row: its columns, and of each when it was written and when it expires, as far as a server says.

Servers before 5.0 tell no times of what has a cell for each element (CASSANDRA-8877); none tells the TTL of a counter,
which has none.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tailer.errors import UsageError
from tailer.limits import whole_number
from tailer.rebuild.table import DataColumn, Plan
from tailer.schema.server_rows import quoted_names
from tailer.types import Shape

_TIMES_OF_ELEMENTS: Final = (5, 0)


class WantedColumn(NamedTuple):
    """A column, and the numbers of the values that tell of it; None for what is not told."""

    column: DataColumn
    value: int
    written: int | None
    ttl: int | None


class Wanted(NamedTuple):
    """`texts`: what is asked for, as CQL, first the clustering. `static`: the columns of static rows; `regular`: all
    others."""

    texts: tuple[str, ...]
    clustering: int
    static: tuple[WantedColumn, ...]
    regular: tuple[WantedColumn, ...]


def wanted_of(plan: Plan, release: str) -> Wanted:
    """What to ask of a table's rows on a server of a release, such as `5.0.9`. UsageError for one that is none."""
    elements = _numbers(release) >= _TIMES_OF_ELEMENTS
    texts = [quoted_names([column.name]) for column in plan.clustering]
    static, regular = list[WantedColumn](), list[WantedColumn]()
    for column in plan.shown:
        name, at = quoted_names([column.name]), len(texts)
        texts.append(name)
        written = ttl = None
        if elements or not column.type.complex:
            texts.append(f"WRITETIME({name})")
            written = at + 1
            if column.type.shape is not Shape.COUNTER:
                texts.append(f"TTL({name})")
                ttl = at + 2
        (static if column.static else regular).append(WantedColumn(column, at, written, ttl))
    return Wanted(tuple(texts), len(plan.clustering), tuple(static), tuple(regular))


def _numbers(release: str) -> tuple[int, int]:
    first, _, rest = release.partition(".")
    major, minor = whole_number(first), whole_number(rest.partition(".")[0].partition("-")[0])
    if major is None or minor is None:
        raise UsageError("the server's release", expected="one of Cassandra, such as 5.0.9", found=repr(release))
    return major, minor
