"""Images of one partition, each with a number behind the one before."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from tailer.images.guesses import same_but_for_guesses
from tailer.images.image import Image
from tailer.images.packed import Row
from tailer.images.partition import Partition, View
from tailer.images.tables import KnownTable
from tailer.rebuild.changes import token_of
from tailer.rebuild.facts import Kind, Place
from tailer.rebuild.rows import Value
from tailer.rows.image_ops import Op


class Cause(NamedTuple):
    """The change row that an image is of."""

    node: str | None = None
    segment: int | None = None
    offset: int | None = None
    row: int | None = None
    event_id: str | None = None

    @classmethod
    def of(cls, change: Mapping[str, Any]) -> Cause:
        """Without what is not known of it: a definition that the log does not show has no row."""
        if change["event_id"] is None:
            return cls()
        return cls(change["node"], change["segment"], change["offset"], change["row"], change["event_id"])


def entry_of(change: Mapping[str, Any]) -> Place:
    """Where the entry begins that a change row is of, in the log of its node."""
    return change["segment"], change["offset"]


NO_CAUSE = Cause()
"""Of what time alone did."""


def op_of(before: View, after: View) -> Op:
    """What became of the row by the facts of an entry."""
    if after.lives:
        if before.lives:
            return "update"
        return "insert" if before.complete else "upsert"
    return "delete" if after.text is None else "update"


def op_unless_same(before: View, after: View) -> Op | None:
    """The op of a row's image where no fact of its own took effect; None where there is nothing to report.

    A row that becomes complete is reported although its values are the same: consumers keep completeness too.
    """
    if before.text != after.text:
        return op_of(before, after)
    return "read" if after.text is not None and after.complete and not before.complete else None


class _Unknown:
    pass


_UNKNOWN = _Unknown()


def changed_of(part: Partition, row: Row, before: View, after: View, *, swept: bool = False) -> tuple[str, ...]:
    """The columns whose value differs or may differ. `swept`: a deletion took all that the row had, known or not."""
    columns = part.table.text.static if row is part.header else part.table.text.regular
    found = []
    for column in columns:
        old, new = _value(before, column.name), _value(after, column.name)
        if old is _UNKNOWN and new is _UNKNOWN:
            if swept:
                found.append(column.name)
        elif old is _UNKNOWN or new is _UNKNOWN or (old != new and not same_but_for_guesses(old, new)):
            found.append(column.name)
    return tuple(found)


def _value(view: View, name: str) -> Value | _Unknown | None:
    if view.complete and not view.lives:
        return None
    return view.values.get(name, None if view.complete else _UNKNOWN)


def row_image(
    part: Partition,
    row: Row,
    op: Op,
    before: View,
    after: View,
    changed: Collection[str],
    write_ts: int | None,
    cause: Cause,
    now_us: int,
) -> Image:
    """The next image of a partition, of one row or (given the header) the static row."""
    table, static = part.table, row is part.header
    definition = table.facts.table.definition
    seq, prev_seq = _next(part, now_us)
    return Image(
        definition.keyspace, definition.table, table.shown_id, token_of(part.name),
        _braced(part.key), _braced(part.clustering(row)), static,
        None, op, before.text, after.text, tuple(changed), write_ts, seq, prev_seq, after.complete, *cause,
    )  # fmt: skip


def deletion_image(part: Partition, kind: int, bounds: str | None, write_ts: int, cause: Cause, now_us: int) -> Image:
    """The next image of a partition: a deletion of rows that are not known one by one."""
    table = part.table
    definition = table.facts.table.definition
    seq, prev_seq = _next(part, now_us)
    op: Op = "delete_range" if kind == Kind.RANGE_GONE else "delete_partition"
    return Image(
        definition.keyspace, definition.table, table.shown_id, token_of(part.name),
        _braced(part.key), None, False,
        bounds, op, None, None, (), write_ts, seq, prev_seq, part.is_complete(part.header), *cause,
    )  # fmt: skip


def table_image(
    table: KnownTable, op: Op, changed: Collection[str], write_ts: int | None, cause: Cause, now_us: int
) -> Image:
    """The next image of a table as a whole; its `seq` is one to be kept with the table."""
    definition = table.facts.table.definition
    prev_seq = table.facts.seq
    seq = max(prev_seq + 1, now_us)
    return Image(
        definition.keyspace, definition.table, table.shown_id, None, None, None, False,
        None, op, None, None, tuple(changed), write_ts, seq, prev_seq or None, table.facts.whole, *cause,
    )  # fmt: skip


def _braced(text: str | None) -> str | None:
    return None if text is None else "{" + text + "}"


def _next(part: Partition, now_us: int) -> tuple[int, int | None]:
    header = part.header
    before = header.seq
    header.seq = max(before + 1, now_us)
    return header.seq, before or None
