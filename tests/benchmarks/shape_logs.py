"""Segments of one shape each, for `shapes.py`: what is written is chosen here, and nothing is measured.

Some thousand different mutations are encoded and then written again and again until the segment is full: a reader keeps
nothing from one batch to the next, so that repetition makes nothing cheaper.
"""

from __future__ import annotations

import itertools
import random
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from tests.helpers.log_writer import (
    PLAIN,
    TS,
    Cell,
    Column,
    Complex,
    Deletion,
    Format,
    Liveness,
    LogFolder,
    Marker,
    Mutation,
    Row,
    SegmentWriter,
    Table,
    Update,
    completed,
    create_payload,
    encode_mutation,
    i32,
)
from tests.helpers.logs.frame import ENTRY_OVERHEAD

SCHEMA_SEGMENT = 1_700_000_000_000
SECTION_BYTES = 140_000
"""As a server with periodic sync wrote them into the perf segment, on the average."""


class Shape(NamedTuple):
    """What a segment holds: tables, and mutations to be repeated."""

    tables: tuple[Table, ...]
    payloads: tuple[bytes, ...]

    @property
    def typed(self) -> str | None:
        """The table of a typed form, where there is just one."""
        return f"{self.tables[0].keyspace}.{self.tables[0].name}" if len(self.tables) == 1 else None


def shape_of(table: Table, one: Callable[[int], bytes], distinct: int) -> Shape:
    """So many different mutations of one table."""
    return Shape((table,), tuple(one(number) for number in range(distinct)))


def shapes(distinct: int) -> dict[str, Shape]:
    """All of them, each of about that many different mutations."""
    return {
        "wide rows": _wide(distinct, listed=False),
        "wide rows, all listed": _wide(distinct, listed=True),
        "collections": _collections(distinct),
        "frozen collections": _frozen(distinct),
        "large blobs": _blobs(max(4, distinct // 125)),
        "200 tables": _mixed(distinct),
    }


def write(shape: Shape, path: Path, size: int, form: Format = PLAIN) -> Path:
    """A folder: the tables' definitions in one finished segment, about `size` plain bytes of rows in the next."""
    folder = LogFolder(path)
    schema = SegmentWriter(SCHEMA_SEGMENT)
    schema.section([create_payload(table) for table in shape.tables])
    folder.put(schema, completed(schema))
    writer = SegmentWriter(SCHEMA_SEGMENT + 1, form=form)
    for section in sections(shape.payloads, size):
        writer.section(section)
    folder.put(writer, completed(writer))
    return path


def sections(payloads: Sequence[bytes], size: int) -> Iterator[list[bytes]]:
    """The payloads over and over, up to about `size` bytes, in sections as periodic sync makes them."""
    section: list[bytes] = []
    held = whole = 0
    for payload in itertools.cycle(payloads):
        section.append(payload)
        held += len(payload) + ENTRY_OVERHEAD
        if held < SECTION_BYTES and whole + held < size:
            continue
        yield section
        whole += held
        section, held = [], 0
        if whole >= size:
            return


def shape_table(number: int, *columns: Column) -> Table:
    """`(pk int, ck bigint, …, PRIMARY KEY (pk, ck))`; the id is made of `number`."""
    keys = (Column("pk", "partition_key", "int", 0), Column("ck", "clustering", "bigint", 0))
    return Table(time_id(number), "shapes", f"t{number}", (*keys, *columns))


def collections_table(number: int) -> Table:
    """A list, a set and a map."""
    types = {"items": "list<text>", "numbers": "set<int>", "scores": "map<text, int>"}
    return shape_table(number, *(Column(name, "regular", type_) for name, type_ in types.items()))


def time_id(number: int) -> UUID:
    """One of version 1, made of a number."""
    return UUID(int=number << 64 | 0x11EE << 48 | 0x8888)


def insert_of(
    table: Table, number: int, *cells: tuple[str, Cell | Complex], listed: tuple[str, ...] | None = None
) -> bytes:
    """An insert of one row. `listed`: the columns that its update lists, if not those that it sets."""
    return payload_of(table, number, Row(clustering_of(number), Liveness(TS + number), None, cells), listed=listed)


def row_of(table: Table, number: int, values: Mapping[str, bytes], listed: tuple[str, ...] | None = None) -> bytes:
    """An insert of one row with these values."""
    return insert_of(table, number, *((name, cell_of(value, number)) for name, value in values.items()), listed=listed)


def payload_of(table: Table, number: int, *parts: Row | Marker, listed: tuple[str, ...] | None = None) -> bytes:
    """An update of the partition that the number has."""
    mutation: Mutation = (Update(table, i32(number % 997), parts, regular=listed),)
    return encode_mutation(mutation)


def clustering_of(number: int) -> tuple[bytes]:
    """The row's place in there."""
    return (struct.pack(">q", number),)


def cell_of(value: bytes, number: int, path: bytes | None = None) -> Cell:
    """A value with the times of that insert."""
    return Cell(value, TS + number, path=path, like_row=1)


def wide_table(number: int, columns: int) -> Table:
    """So many columns of four types by turns, of which `wide_values` gives a value each."""
    types = ("int", "text", "double", "timestamp")
    return shape_table(number, *(Column(f"column_{n:03}", "regular", types[n % 4]) for n in range(columns)))


def wide_values(number: int) -> tuple[bytes, bytes, bytes, bytes]:
    return i32(number), b"text %d" % number, struct.pack(">d", number / 4), struct.pack(">q", TS + number)


def _wide(distinct: int, *, listed: bool) -> Shape:
    """100 columns, 4 of them set, others each time. `listed`: all stand in the update's list, as when a prepared
    statement names them and leaves values unset."""
    table = wide_table(1, 100)
    names = tuple(column.name for column in table.of_kind("regular"))
    chance = random.Random(1)

    def one(number: int) -> bytes:
        chosen, values = sorted(chance.sample(range(100), 4)), wide_values(number)
        return row_of(table, number, {names[n]: values[n % 4] for n in chosen}, listed=names if listed else None)

    return shape_of(table, one, distinct)


def _collections(distinct: int) -> Shape:
    """A list, a set and a map, each written whole (which deletes what was there) with five elements."""
    table = collections_table(2)

    def one(number: int) -> bytes:
        before = Deletion(TS + number - 1, TS // 1_000_000)
        items = tuple(cell_of(b"item %d" % n, number, time_id(number * 5 + n).bytes) for n in range(5))
        numbers = tuple(cell_of(b"", number, i32(number + n)) for n in range(5))
        scores = tuple(cell_of(i32(number * n), number, b"key%d" % n) for n in range(5))
        cells = zip(("items", "numbers", "scores"), (items, numbers, scores), strict=True)
        return insert_of(table, number, *((name, Complex(held, before)) for name, held in cells))

    return shape_of(table, one, distinct)


def _frozen(distinct: int) -> Shape:
    """A frozen list, set and map with five elements each."""
    table = shape_table(
        3,
        Column("items", "regular", "frozen<list<text>>"),
        Column("numbers", "regular", "frozen<set<int>>"),
        Column("scores", "regular", "frozen<map<text, double>>"),
    )

    def joined(*parts: bytes) -> bytes:
        return b"".join(i32(len(part)) + part for part in parts)

    def one(number: int) -> bytes:
        items = i32(5) + joined(*(b"item %d" % (number + n) for n in range(5)))
        numbers = i32(5) + joined(*(i32(number + n) for n in range(5)))
        scores = i32(5) + b"".join(joined(b"key%d" % n, struct.pack(">d", number / 8 + n)) for n in range(5))
        values = {"items": items, "numbers": numbers, "scores": scores}
        return row_of(table, number, values)

    return shape_of(table, one, distinct)


def _blobs(distinct: int) -> Shape:
    """Blobs of 64 KiB to 1 MiB."""
    table = shape_table(4, Column("body", "regular", "blob"))
    chance = random.Random(4)
    sizes = [chance.randrange(1 << 16, 1 << 20) for _ in range(distinct)]
    return shape_of(table, lambda number: row_of(table, number, {"body": chance.randbytes(sizes[number])}), distinct)


def _mixed(distinct: int) -> Shape:
    """200 tables by turns, the rows like those of the perf segment."""
    tables = tuple(
        shape_table(
            100 + n,
            Column(f"flag{n}", "regular", "boolean"),
            Column(f"name{n}", "regular", "text"),
            Column(f"value{n}", "regular", "double"),
        )
        for n in range(200)
    )

    def one(number: int) -> bytes:
        n = number % len(tables)
        values = {f"flag{n}": b"\1", f"name{n}": b"alpha", f"value{n}": struct.pack(">d", number / 2)}
        return row_of(tables[n], number, values)

    return Shape(tables, tuple(one(number) for number in range(distinct)))
