"""Random tables and mutations with every feature of the format page, for hypothesis. Values are any bytes."""

from __future__ import annotations

from uuid import UUID

from hypothesis import strategies as st

from tests.helpers.logs.model import (
    Bound,
    Cell,
    Column,
    Complex,
    Deletion,
    Liveness,
    Marker,
    Mutation,
    Row,
    Table,
    Update,
)

TS = 1_700_000_000_000_000
TIMES = st.sampled_from([0, 1_442_880_000, 1_700_000_000, 2**31 - 1, 2**31, 4_102_444_800, 2**32 - 1])
TIMESTAMPS = st.integers(TS, TS + 300) | st.sampled_from([0, 1, TS - 2**40, 2**62, 2**63 - 1, -(2**62)])
TTLS = st.integers(1, 200) | st.sampled_from([86_400, 630_720_000])
LENGTHS = st.integers(1, 12) | st.sampled_from([127, 128, 300])
SIMPLE = ("int", "bigint", "boolean", "text", "blob", "uuid", "vector<float, 3>", "frozen<list<int>>", "empty")
COMPLEX = ("list<int>", "set<text>", "map<text, int>", "point")
DELETIONS = st.builds(Deletion, TIMESTAMPS, TIMES)


@st.composite
def tables(draw: st.DrawFn, number: int) -> Table:
    """A table whose id is made of `number`: up to 35 clustering columns, up to 90 others."""
    clustering = draw(st.sampled_from([0, 1, 1, 2, 3, 35]))
    statics = draw(st.integers(0, 3)) if clustering else 0
    regular = draw(st.sampled_from([0, 1, 2, 3, 5, 8, 63, 64, 90]))
    columns = [Column("pk", "partition_key", "int", 0)]
    columns += [Column(f"c{n}", "clustering", draw(st.sampled_from(SIMPLE)), n) for n in range(clustering)]
    columns += [Column(f"s{n}", "static", draw(st.sampled_from(SIMPLE + COMPLEX))) for n in range(statics)]
    columns += [Column(f"{n}é{n}", "regular", draw(st.sampled_from(SIMPLE + COMPLEX))) for n in range(regular)]
    return Table(UUID(int=number << 64 | 0x11EE << 48 | 0x8888 + number), "ks", f"t{number}", tuple(columns))


@st.composite
def mutations(draw: st.DrawFn, known: list[Table]) -> Mutation:
    """Up to three updates of any of the tables."""
    return tuple(draw(updates(draw(st.sampled_from(known)))) for _ in range(draw(st.integers(1, 3))))


@st.composite
def updates(draw: st.DrawFn, table: Table) -> Update:
    """One partition's update."""
    unfiltereds: list[Row | Marker] = []
    for _ in range(draw(st.integers(0, 4))):
        if table.of_kind("clustering") and draw(st.integers(0, 3)) == 0:
            unfiltereds += draw(ranges(table))
        else:
            unfiltereds.append(draw(rows(table, "regular")))
    static = draw(rows(table, "static")) if table.of_kind("static") and draw(st.booleans()) else None
    every = tuple(column.name for column in table.of_kind("regular")) if draw(st.booleans()) else None
    key = draw(st.binary(max_size=6))
    deletion = draw(st.none() | DELETIONS)
    return Update(table, key, tuple(unfiltereds), static, deletion, every)


@st.composite
def ranges(draw: st.DrawFn, table: Table) -> list[Marker]:
    """A range tombstone, or several that meet at boundaries."""
    kinds = [draw(st.sampled_from([Bound.INCL_START, Bound.EXCL_START]))]
    kinds += draw(st.lists(st.sampled_from([Bound.EXCL_END_INCL_START, Bound.INCL_END_EXCL_START]), max_size=2))
    kinds.append(draw(st.sampled_from([Bound.INCL_END, Bound.EXCL_END])))
    columns = table.of_kind("clustering")
    markers = []
    for kind in kinds:
        prefix = draw(st.integers(0, len(columns)))
        values = tuple(draw(clustering_values(column)) for column in columns[:prefix])
        markers.append(Marker(kind, values, tuple(draw(DELETIONS) for _ in range(1 + kind.boundary))))
    return markers


@st.composite
def rows(draw: st.DrawFn, table: Table, kind: str) -> Row:
    """A row, or a static one."""
    static = kind == "static"
    clustering = () if static else tuple(draw(clustering_values(column)) for column in table.of_kind("clustering"))
    liveness = None if static else draw(st.none() | st.builds(Liveness, TIMESTAMPS) | LIVENESS_WITH_TTL)
    columns = table.of_kind("static" if static else "regular")
    some = draw(st.sampled_from([0, 1, 2, 4]))
    chosen = [column for column in columns if some == 0 or draw(st.integers(0, some)) == 0]
    cells = tuple((column.name, draw(_held(column, liveness))) for column in chosen)
    return Row(clustering, liveness, draw(st.none() | DELETIONS), cells)


LIVENESS_WITH_TTL = st.builds(Liveness, TIMESTAMPS, TTLS, TIMES)


def clustering_values(column: Column) -> st.SearchStrategy[bytes | None]:
    return st.none() | st.just(b"") | values(column)


@st.composite
def values(draw: st.DrawFn, column: Column) -> bytes:
    """Bytes that have the length of the column's type; not empty unless it has none."""
    length = draw(LENGTHS) if column.fixed is None else column.fixed
    return draw(st.binary(min_size=length, max_size=length))


def _held(column: Column, liveness: Liveness | None) -> st.SearchStrategy[Cell | Complex]:
    if not column.complex:
        return _cells(column, liveness)
    return st.builds(Complex, st.lists(_cells(column, liveness), max_size=4).map(tuple), st.none() | DELETIONS)


@st.composite
def _cells(draw: st.DrawFn, column: Column, liveness: Liveness | None) -> Cell:
    path = draw(st.binary(max_size=10)) if column.complex else None
    value = b"" if draw(st.integers(0, 9)) == 0 else draw(values(column))
    like = 0 if liveness is None else draw(st.sampled_from([0, 1, 1, 2 if liveness.ttl is not None else 1]))
    kind = draw(st.sampled_from(["plain", "plain", "expiring", "deleted"]))
    if like == 2:
        return Cell(value, path=path, like_row=2)
    ts = draw(TIMESTAMPS)
    if kind == "deleted":
        return Cell(b"", ts, deleted=draw(TIMES), path=path, like_row=like)
    if kind == "expiring":
        return Cell(value, ts, draw(TTLS), draw(TIMES), path=path, like_row=like)
    return Cell(value, ts, path=path, like_row=like)
