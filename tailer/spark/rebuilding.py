"""What executors do to rebuild a table: facts of change rows, and rows of partitions. One partition is held at a time.

Frames go in sorted by partition; batches of Arrow go out. Knows no session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from tailer.rebuild import Table
from tailer.rebuild.changes import OWN, changed
from tailer.rebuild.facts import Fact
from tailer.rebuild.pack import pack, unpack
from tailer.rebuild.rows import TableRow, rows_at
from tailer.rebuild.state import Truncations, join
from tailer.rebuild.table import Plan, plan_of
from tailer.spark.errors import told
from tailer.typed_decode import decode_msgpack
from tailer.types.cql import Decimals

if TYPE_CHECKING:
    import pyarrow

    from tailer.rebuild.arrow import OnMisfit

PACKED: Final = "partition binary, row binary, facts binary"
"""What one change says of one row; see `tailer.rebuild.pack`."""

TABLE_ROW: Final = b""
"""In the place of a partition: what is known of the table as a whole. No partition has an empty name."""

STORED: Final = ("partition", "row", "live", "until", "state")
"""The columns behind the table's own in a merged table, each with a prefix."""

_BATCH_ROWS: Final = 4096


class Rebuilding(msgspec.Struct, frozen=True):
    """What a task needs. `at`: the second whose rows are asked for. `renewed`: give every row, changed or not."""

    table: Table
    at: int
    decimals: Literal["decimal", "string"] = "decimal"
    truncations: dict[str, tuple[int, int]] = {}
    renewed: bool = False
    prefix: str = "_"
    on_misfit: Literal["fail", "null"] = "fail"


class Stored(NamedTuple):
    """A row of a partition as a frame has it. `live` is None for news, and not for what was stored."""

    partition: bytes
    row: bytes
    facts: bytes
    live: bool | None = None
    until: int | None = None


def pack_changes(job: bytes, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """Change rows of one table to facts."""
    import pyarrow as pa

    plan = plan_of(_decoded(job).table)
    schema = pa.schema([("partition", pa.binary()), ("row", pa.binary()), ("facts", pa.binary())])
    with told():
        for batch in batches:
            made = [
                found
                for change in batch.to_pylist()
                if not _is_former(change, plan.table) and (found := changed(change, plan)) is not None
            ]
            columns = (
                [found.partition for found in made],
                [found.row for found in made],
                [pack(found.facts) for found in made],
            )
            arrays = [pa.array(values, pa.binary()) for values in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _is_former(change: Mapping[str, Any], table: Table) -> bool:
    return bool(table.ended) and table.is_former(
        change["node"], (change["segment"], change["offset"]), change["write_ts"]
    )


def _own_facts(packed: bytes, table: Table) -> list[Fact]:
    """Without those of an earlier table with the same id."""
    facts = unpack(packed)
    if not table.ended:
        return facts
    return [fact for fact in facts if not table.is_former(fact.stamp.node, fact.stamp.place, fact.stamp.write_ts)]


def rebuild_rows(job: bytes, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """Facts, sorted by partition, to the rows alive."""
    task = _decoded(job)
    plan = plan_of(task.table)
    with told():
        yield from in_batches(_living(task, plan, batches), plan, task.decimals, task.on_misfit, (), lambda rows: [])


def merge_rows(job: bytes, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """News and stored rows, sorted by partition, to the rows that have to be stored anew; without a state: deleted."""
    task = _decoded(job)
    plan = plan_of(task.table)
    with told():
        names = [task.prefix + name for name in STORED]
        yield from in_batches(_changes(task, plan, batches), plan, task.decimals, task.on_misfit, names, _stored)


def encoded(task: Rebuilding) -> bytes:
    """The task as it travels."""
    return msgspec.msgpack.encode(task)


def _decoded(job: bytes) -> Rebuilding:
    return decode_msgpack(job, Rebuilding)


class Out(Protocol):
    """A row to give, of a partition. `shown` None = not alive."""

    @property
    def partition(self) -> bytes: ...

    @property
    def row(self) -> bytes: ...

    @property
    def shown(self) -> TableRow | None: ...


RowOut = TypeVar("RowOut", bound=Out)


class _Out(NamedTuple):
    """A row to give: `state` None = delete it; `shown` None = not alive."""

    partition: bytes
    row: bytes
    state: bytes | None
    shown: TableRow | None


def _living(task: Rebuilding, plan: Plan, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[_Out]:
    for partition, lines in partitions_of(batches):
        facts: dict[bytes, list[Fact]] = {}
        for line in lines:
            facts.setdefault(line.row, []).extend(_own_facts(line.facts, task.table))
        for row in rows_at(join(facts, plan, {}), plan, {}, task.at):
            yield _Out(partition, row.key, None, row)


def _changes(task: Rebuilding, plan: Plan, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[_Out]:
    for partition, lines in partitions_of(batches):
        if partition == TABLE_ROW:
            yield from (_Out(partition, line.row, line.facts, None) for line in lines if line.live is None)
        else:
            yield from _merged(partition, lines, task, plan)


def _merged(partition: bytes, lines: Iterable[Stored], task: Rebuilding, plan: Plan) -> Iterator[_Out]:
    """Of one partition the rows whose state or values are no longer those stored."""
    stored: dict[bytes, Stored] = {}
    before: dict[bytes, list[Fact]] = {}
    facts: dict[bytes, list[Fact]] = {}
    for line in lines:
        read = unpack(line.facts)
        facts.setdefault(line.row, []).extend(_own_facts(line.facts, task.table))
        if line.live is not None:
            stored[line.row] = line
            before[line.row] = read
    truncations: Truncations = task.truncations
    after = join(facts, plan, truncations)
    shown = {row.key: row for row in rows_at(after, plan, {}, task.at)}
    shown_before = {row.key: row for row in rows_at(before, plan, {}, task.at)}
    for key in sorted({*before, *after}):
        old, state = stored.get(key), pack(after[key]) if key in after else None
        if (
            old is None
            or task.renewed
            or old.facts != state
            or (old.until is not None and old.until <= task.at)
            or shown.get(key) != shown_before.get(key)
        ):
            yield _Out(partition, key, state, shown.get(key))


def partitions_of(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[tuple[bytes, Iterator[Stored]]]:
    """The lines of a sorted frame, whose columns are those of `Stored`, in order."""
    lines = (Stored(*line) for batch in batches for line in zip(*(c.to_pylist() for c in batch.columns), strict=True))
    yield from groupby(lines, key=lambda line: line.partition)


def in_batches(
    rows: Iterable[RowOut],
    plan: Plan,
    decimals: Decimals,
    on_misfit: OnMisfit,
    names: Sequence[str],
    beside: Callable[[Sequence[RowOut]], list[pyarrow.Array]],
) -> Iterator[pyarrow.RecordBatch]:
    """Batches of the table's own columns, and behind them those that `beside` makes, under `names`."""
    held: list[RowOut] = []
    for row in rows:
        held.append(row)
        if len(held) == _BATCH_ROWS:
            yield _batch(held, plan, decimals, on_misfit, names, beside(held))
            held = []
    if held:
        yield _batch(held, plan, decimals, on_misfit, names, beside(held))


def _batch(
    rows: Sequence[Out],
    plan: Plan,
    decimals: Decimals,
    on_misfit: OnMisfit,
    names: Sequence[str],
    beside: Sequence[pyarrow.Array],
) -> pyarrow.RecordBatch:
    import pyarrow as pa

    from tailer.rebuild.arrow import row_columns

    columns = row_columns(plan, decimals, on_misfit)
    arrays = columns.arrays([(out.partition, out.shown or _dead(out)) for out in rows])
    fields = [*columns.schema, *(pa.field(name, array.type) for name, array in zip(names, beside, strict=True))]
    return pa.RecordBatch.from_arrays([*arrays, *beside], schema=pa.schema(fields))


def _stored(rows: Sequence[_Out]) -> list[pyarrow.Array]:
    """The columns that STORED names."""
    import pyarrow as pa

    return [
        pa.array([out.partition for out in rows], pa.binary()),
        pa.array([out.row for out in rows], pa.binary()),
        pa.array([out.shown is not None for out in rows], pa.bool_()),
        pa.array([None if out.shown is None else out.shown.until for out in rows], pa.int64()),
        pa.array([out.state for out in rows], pa.binary()),
    ]


def _dead(out: Out) -> TableRow:
    """A row of which nothing is shown but the key that is known."""
    return TableRow(out.row or OWN, b"", {}, None)
