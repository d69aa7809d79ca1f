"""What executors do to keep a table by its images. One partition is held at a time.

Images and stored rows go in sorted by partition; the rows that have to be stored anew come out. Knows no session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import msgspec

from tailer.errors import DefinitionError
from tailer.rebuild import Table
from tailer.rebuild.changes import OWN, partition_name, row_key
from tailer.rebuild.rows import TableRow
from tailer.rebuild.shown import values_shown
from tailer.rebuild.table import Plan, plan_of
from tailer.rows.image_ops import check_op
from tailer.sinks.database.folded import Folded, RowNews
from tailer.spark.errors import told
from tailer.spark.rebuilding import TABLE_ROW, Stored, in_batches, partitions_of
from tailer.typed_decode import decode_msgpack, json_decoder
from tailer.types.read_json import read_json
from tailer.versions import StateDecoder

if TYPE_CHECKING:
    import pyarrow

NEEDED: Final = (
    "table_id", "token", "partition_key", "clustering", "is_static", "op", "after", "changed", "write_ts", "seq",
    "complete",
)  # fmt: skip
"""The columns of an image that are looked at."""

STORED: Final = ("partition", "row", "live", "complete", "state")
"""The columns behind the table's own, each with a prefix."""

_fields: Final = json_decoder(dict[str, msgspec.Raw]).decode


class ImageMerging(msgspec.Struct, frozen=True):
    """What a task needs. `renewed`: give every row, changed or not. `gone_seq`: of the last image that told of a DROP;
    rows from before it go."""

    table: Table
    decimals: Literal["decimal", "string"] = "decimal"
    renewed: bool = False
    gone_seq: int = 0
    prefix: str = "_"
    on_misfit: Literal["fail", "null"] = "fail"


class _News(msgspec.Struct, frozen=True, array_like=True):
    """An image on its way. `after`: by column the JSON of its value, those of the key left out."""

    seq: int
    op: str
    clustering: bytes
    after: dict[str, str] | None
    changed: list[str]
    write_ts: int | None
    complete: bool


class RowState(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a row. `write_ts`: the newest that its images told of."""

    seq: int
    write_ts: int | None
    complete: bool
    clustering: bytes
    values: dict[str, str | None]


class _Out(NamedTuple):
    """A row to give: `state` None = delete it; `shown` None = not alive."""

    partition: bytes
    row: bytes
    state: bytes | None
    shown: TableRow | None
    complete: bool | None


class _Source:
    """Is a `Source`: images on their way have their keys and values ready."""

    def __init__(self, plan: Plan) -> None:
        # Dropped columns too: the image of a DROP names its column, which may be added again. A value that the DROP
        # does not void comes back with an image; one that it voids has none.
        self._names = {
            static: frozenset(column.name for column in plan.columns.values() if column.static == static)
            for static in (True, False)
        }

    def key_of(self, partition_key: bytes, clustering: bytes | None) -> tuple[bytes]:
        return (OWN if clustering is None else clustering,)

    def values_of(self, row: dict[str, str], *, static: bool) -> dict[str, str]:
        return row

    def data_names(self, *, static: bool) -> frozenset[str]:
        return self._names[static]


def pack_images(job: bytes, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """Images of rows of one table, each with the names of its partition and its row."""
    import pyarrow as pa

    plan = plan_of(_decoded(job).table)
    with told():
        for batch in batches:
            made = [_packed(image, plan) for image in batch.to_pylist()]
            columns = zip(*made, strict=True) if made else ((), (), ())
            arrays = [pa.array(values, pa.binary()) for values in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=["partition", "row", "facts"])


def merge_images(job: bytes, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """Images and stored rows, sorted by partition, to the rows to be stored anew; without a state: deleted."""
    import pyarrow as pa

    task = _decoded(job)
    plan = plan_of(task.table)

    def beside(rows: Sequence[_Out]) -> list[pa.Array]:
        return [
            pa.array([out.partition for out in rows], pa.binary()),
            pa.array([out.row for out in rows], pa.binary()),
            pa.array([out.shown is not None for out in rows], pa.bool_()),
            pa.array([out.complete for out in rows], pa.bool_()),
            pa.array([out.state for out in rows], pa.binary()),
        ]

    names = [task.prefix + name for name in STORED]
    with told():
        yield from in_batches(_changes(task, plan, batches), plan, task.decimals, task.on_misfit, names, beside)


_STATE: Final = StateDecoder[RowState](RowState, "a row of a table that images are merged into")


def state_of_row(packed: bytes) -> RowState:
    """What column `_state` of such a table keeps of a row. RefusedError for what is none."""
    return _STATE.decode(packed)


def encoded(task: ImageMerging) -> bytes:
    """The task as it travels."""
    return msgspec.msgpack.encode(task)


def _decoded(job: bytes) -> ImageMerging:
    return decode_msgpack(job, ImageMerging)


def _packed(image: Mapping[str, Any], plan: Plan) -> tuple[bytes, bytes, bytes]:
    try:
        check_op(image["op"])
        partition = partition_name(plan, image["token"], image["partition_key"])
        row, clustering = (OWN, b"") if image["is_static"] else row_key(plan, image["clustering"])
    except (ValueError, KeyError, TypeError, ArithmeticError) as error:
        raise DefinitionError(
            f"an image of {plan.table.name} does not fit its definition: {error}", remedy=_NEWEST
        ) from error
    news = _News(
        image["seq"], image["op"], clustering, _after(image, plan), list(image["changed"]), image["write_ts"],
        image["complete"],
    )  # fmt: skip
    return partition, row, msgspec.msgpack.encode(news)


_NEWEST: Final = "Give the newest definition: a function that asks for it (table_definition) is asked for each batch."


def _after(image: Mapping[str, Any], plan: Plan) -> dict[str, str] | None:
    """What the row has besides its key, whose names may be earlier ones; nothing of columns that were dropped."""
    if image["after"] is None:
        return None
    key = {*_fields(image["partition_key"]), *_fields(image["clustering"] or "{}")}
    found = {name: raw for name, raw in _fields(image["after"]).items() if name not in key}
    unknown = found.keys() - plan.columns.keys()
    if unknown:
        raise DefinitionError(
            f"the definition of {plan.table.name} has no column {min(unknown)}, which an image has", remedy=_NEWEST
        )
    return {name: bytes(raw).decode() for name, raw in found.items() if not plan.columns[name].dropped}


def _changes(task: ImageMerging, plan: Plan, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[_Out]:
    source = _Source(plan)
    for partition, lines in partitions_of(batches):
        if partition == TABLE_ROW:
            yield from (_Out(partition, line.row, line.facts, None, None) for line in lines if line.live is None)
        else:
            yield from _merged(partition, list(lines), task, plan, source)


def _merged(
    partition: bytes, lines: Sequence[Stored], task: ImageMerging, plan: Plan, source: _Source
) -> Iterator[_Out]:
    """Of one partition the rows whose state or values are no longer those stored."""
    stored = {line.row: line for line in lines if line.live is not None}
    before = {row: state_of_row(line.facts) for row, line in stored.items()}
    there = {row: state for row, state in before.items() if state.seq > task.gone_seq}
    # What is void is so by the times that it was told with, and not by those of what is put over it.
    left = _without_void(there, plan)
    news = [(line.row, decode_msgpack(line.facts, _News)) for line in lines if line.live is None]
    after = _without_void(_told(left, news, source), plan)
    statics = before.get(OWN), after.get(OWN)
    alone = after.keys() <= {OWN}
    for row in sorted({*before, *after}):
        state = after.get(row)
        live = state is not None and (row != OWN or alone)
        known = stored.get(row)
        same = known is not None and (before[row], known.live) == (state, live)
        if task.renewed or not same or (row != OWN and statics[0] != statics[1]):
            yield _out(partition, row, state, statics[1], live, plan)


def _out(partition: bytes, row: bytes, state: RowState | None, static: RowState | None, live: bool, plan: Plan) -> _Out:
    if state is None:
        return _Out(partition, row, None, None, None)
    texts = {**static.values, **state.values} if static is not None else state.values
    complete = state.complete and (static is None or static.complete)
    shown = TableRow(row, state.clustering, _values(texts, plan), None) if live else None
    return _Out(partition, row, msgspec.msgpack.encode(state), shown, complete)


def _values(texts: Mapping[str, str | None], plan: Plan) -> dict[str, Any]:
    fields = {name: None if text is None else read_json(text) for name, text in texts.items()}
    fields = {name: value for name, value in fields.items() if not _is_of_before(plan, name, value)}
    try:
        return values_shown(plan, fields)
    except (ValueError, KeyError, TypeError, ArithmeticError) as error:
        raise DefinitionError(
            f"a row of {plan.table.name} does not fit its definition: {error}", remedy=_NEWEST
        ) from error


def _is_of_before(plan: Plan, name: str, value: Any) -> bool:
    """Whether a value is none of its column's type, but of the one that it had before it was dropped and added again:
    an image of the row follows."""
    column = plan.columns.get(name)
    if column is None or column.void is None or value is None:
        return False
    try:
        values_shown(plan, {name: value})
    except (ValueError, KeyError, TypeError, ArithmeticError):
        return True
    return False


def _told(
    before: Mapping[bytes, RowState], news: Sequence[tuple[bytes, _News]], source: _Source
) -> dict[bytes, RowState]:
    """The rows behind the images that are newer than what is stored."""
    folded = Folded()
    clusterings = {row: image.clustering for row, image in news}
    times = {row: state.write_ts for row, state in before.items()}
    for row, image in sorted(news, key=lambda told: told[1].seq):
        if row in before and image.seq <= before[row].seq:
            continue
        static = row == OWN
        folded.take(
            source, {**msgspec.structs.asdict(image), "partition_key": b"", "clustering": row, "is_static": static}
        )
        times[row] = None if image.after is None else _newest(times.get(row), image.write_ts)
    after = dict(before)
    for (row,), told_of in folded.rows.items():
        state = _applied(before.get(row), told_of, times[row], clusterings[row])
        if state is None:
            after.pop(row, None)
        else:
            after[row] = state
    return after


def _applied(before: RowState | None, news: RowNews, write_ts: int | None, clustering: bytes) -> RowState | None:
    if news.gone or (before is None and not news.make):
        return None
    values = dict(news.values) if news.whole or before is None else {**before.values, **news.values}
    return RowState(news.seq, write_ts, news.complete, clustering, values)


def _newest(known: int | None, told_of: int | None) -> int | None:
    return max((time for time in (known, told_of) if time is not None), default=None)


def _without_void(states: dict[bytes, RowState], plan: Plan) -> dict[bytes, RowState]:
    """Without what was written into a column before it was dropped, which may be there again."""
    if not plan.voids:
        return states
    return {row: _live(state, plan) for row, state in states.items()}


def _live(state: RowState, plan: Plan) -> RowState:
    write_ts = state.write_ts
    void = {name for name, until in plan.voids.items() if write_ts is not None and write_ts <= until}
    values = {name: None if name in void else text for name, text in state.values.items()}
    return state if values == state.values else msgspec.structs.replace(state, values=values)
