"""A row's values, as a server sent them, as the facts of the state. Pure.

Times that a server does not tell are the floor's. What it shows of a row is in `wanted.py`; what of that is a guess, in
`images/guesses.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from struct import Struct
from typing import Final

from tailer.errors import UsageError
from tailer.images.facts import Fact
from tailer.images.guesses import guessed_counter, guessed_id, guessed_marker
from tailer.images.served import ServedRow
from tailer.rebuild.changes import OWN, row_key_of
from tailer.rebuild.facts import Kind, by_age
from tailer.rebuild.table import DataColumn, Plan
from tailer.snapshot.wanted import Wanted, WantedColumn
from tailer.types import Shape
from tailer.types.encode import usual_bytes
from tailer.types.parts import collection_parts, parts_of

Values = Sequence[bytes | None]

_LIVE, _CELL = int(Kind.LIVE), int(Kind.CELL)
_INT: Final = Struct(">i").unpack
_LONG: Final = Struct(">q").unpack


class RowReader:
    """Of one table."""

    def __init__(self, plan: Plan, wanted: Wanted) -> None:
        self._plan = plan
        self._wanted = wanted
        self._with_fields = {column.name for column in plan.shown if column.type.has_fields}
        self.replaced: Counter[tuple[str, str]] = Counter()
        """Values with a U+FFFD in place of what is no character, by table and column."""
        self._usual = {column.name: usual_bytes(column.type, self._note(plan, column)) for column in plan.shown}

    def rows(self, partition: Sequence[Values], second: int, until: int) -> Iterator[ServedRow]:
        """All rows of a partition, of what was asked for of each.

        `second`: when the server answered. `until`: its floor, in µs: the time of what the server tells none of.
        UsageError for a value of a user-defined type that has more fields than the plan's.
        """
        static = self._facts(self._wanted.static, partition[0], second, until)
        if static:
            yield ServedRow(OWN, b"", static)
        count = self._wanted.clustering
        for values in partition:
            if count and values[0] is None:
                # Nothing but a static row.
                continue
            key, clustering = row_key_of(self._plan, values[:count])
            facts = self._facts(self._wanted.regular, values, second, until)
            if not self._plan.counters:
                facts.append(_marker(facts, until))
            yield ServedRow(key, clustering, facts)

    def _facts(self, columns: Sequence[WantedColumn], values: Values, second: int, until: int) -> list[Fact]:
        facts: list[Fact] = []
        for column, at, written, ttl in columns:
            value = values[at]
            if value is None:
                continue
            value = self._checked(column, value)
            told = None if written is None else values[written]
            left = None if ttl is None else values[ttl]
            shape = column.type.shape
            if shape is Shape.SIMPLE:
                facts.append(_cell(column.name, b"", value, told, left, second, until))
            elif shape is Shape.COUNTER:
                time = until if told is None else _LONG(told)[0]
                facts.append(guessed_counter(column.name, _LONG(value)[0], second, time))
            else:
                times, ends = ([] if each is None else collection_parts(each, 1) for each in (told, left))
                for at, (path, part) in enumerate(_elements(shape, value, second)):
                    if path is not None and part is not None:
                        time_of, end_of = (each[at] if at < len(each) else None for each in (times, ends))
                        facts.append(_cell(column.name, path, part, time_of, end_of, second, until))
        return facts

    def _note(self, plan: Plan, column: DataColumn) -> Callable[[], None]:
        return lambda: self.replaced.update([(plan.table.name, column.name)])

    def _checked(self, column: DataColumn, value: bytes) -> bytes:
        """The value as the log's change rows would give it."""
        try:
            if column.name in self._with_fields:
                column.type.json(value)
            return self._usual[column.name](value)
        except ValueError as error:
            # ALTER TYPE added a field, and the consumer has not read the log that far.
            raise UsageError(
                "a value on the server does not fit the definition that the log has shown",
                expected=f"{column.type.text} in {self._plan.table.name}, column {column.name}",
                found=str(error),
                remedy="If its type has more fields by now, the value is read again once the log has shown that.",
            ) from error


def _elements(shape: Shape, value: bytes, second: int) -> Iterable[tuple[bytes | None, bytes | None]]:
    """What a value holds, each by what names it in the log, as far as that is known."""
    if shape is Shape.MAP:
        both = collection_parts(value, 2)
        return zip(both[::2], both[1::2], strict=True)
    if shape is Shape.SET:
        return ((part, b"") for part in collection_parts(value, 1))
    if shape is Shape.LIST:
        return ((guessed_id(at, second), part) for at, part in enumerate(collection_parts(value, 1)))
    return ((at.to_bytes(2, "big"), part) for at, part in enumerate(parts_of(value, 0, len(value))))


def _cell(
    name: str, path: bytes, value: bytes, told: bytes | None, left: bytes | None, second: int, until: int
) -> Fact:
    time = until if told is None else _LONG(told)[0]
    if left is None:
        return Fact(_CELL, name, path, value, time)
    ttl = _INT(left)[0]
    return Fact(_CELL, name, path, value, time, ttl, second + ttl)


def _marker(cells: Sequence[Fact], until: int) -> Fact:
    """Certain where nothing else keeps the row; else one that goes with its oldest cell."""
    if not cells:
        return Fact(_LIVE, "", b"", b"", until)
    oldest = min(cells, key=lambda cell: by_age(cell.write_ts, cell.expires_at))
    return guessed_marker(oldest.write_ts, oldest.ttl, oldest.expires_at)
