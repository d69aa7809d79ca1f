"""Tables, values and mutations at random: every CQL type, nested ones, and every shape of row. Writes bytes only."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from tests.helpers.logs.model import Bound, Cell, Column, Complex, Deletion, Liveness, Marker, Row, Table, Update
from tests.helpers.logs.wire import svint, uvint
from tests.helpers.odd_texts import BYTES, MARKED
from tests.oracle.cqltypes import Type, parse

TS = 1_700_000_000_000_000
NOW = 1_700_000_000
ID = UUID("11111111-2222-11ee-8888-0123456789ab")
ODD_TEXTS = st.sampled_from([*BYTES, MARKED])
TYPES = (("point", (("x", "int"), ("y", "text"))), ("wide", (("a", "frozen<list<int>>"), ("b", "boolean"))))

SCALARS = (
    "ascii", "bigint", "blob", "boolean", "date", "decimal", "double", "duration", "float", "inet", "int", "smallint",
    "text", "time", "timestamp", "timeuuid", "tinyint", "uuid", "varint",
)  # fmt: skip
WIDTHS = {"bigint": 8, "boolean": 1, "date": 4, "double": 8, "float": 4, "int": 4, "smallint": 2, "time": 8}
WIDTHS |= {"timestamp": 8, "timeuuid": 16, "tinyint": 1, "uuid": 16}
FIXED = {"bigint", "boolean", "double", "float", "int", "timestamp", "timeuuid", "uuid"}
"""Written without a length (format page 5.8): in a row they have all their bytes or are empty."""

scalars = st.sampled_from(SCALARS)
udts = st.sampled_from(["point", "wide"])


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        inner.map(lambda text: f"frozen<list<{text}>>"),
        inner.map(lambda text: f"frozen<set<{text}>>"),
        st.tuples(inner, inner).map(lambda pair: f"frozen<map<{pair[0]}, {pair[1]}>>"),
        st.lists(inner, min_size=1, max_size=3).map(lambda texts: f"frozen<tuple<{', '.join(texts)}>>"),
        inner.map(lambda text: f"vector<{text}, 2>"),
        udts.map(lambda name: f"frozen<{name}>"),
    )


frozen_types = st.recursive(scalars, _nested, max_leaves=4)
column_types = st.one_of(
    frozen_types,
    frozen_types.map(lambda text: f"list<{text}>"),
    frozen_types.map(lambda text: f"set<{text}>"),
    st.tuples(frozen_types, frozen_types).map(lambda pair: f"map<{pair[0]}, {pair[1]}>"),
    udts,
)


@st.composite
def tables(draw: st.DrawFn, *, counters: bool = False) -> Table:
    """One to three key columns, some clustering, static and regular columns."""
    keys = [Column(f"k{n}", "partition_key", draw(frozen_types), n) for n in range(draw(st.integers(1, 3)))]
    clustering = [Column(f"c{n}", "clustering", draw(frozen_types), n) for n in range(draw(st.integers(0, 2)))]
    others: list[Column] = []
    for n in range(draw(st.integers(1, 6))):
        kind: Any = draw(st.sampled_from(["regular", "regular", "static"])) if clustering else "regular"
        others.append(Column(f"v{n}", kind, "counter" if counters else draw(column_types)))
    return Table(ID, "ks", "t", (*keys, *clustering, *others))


def kind_of(text: str) -> Type:
    return parse(text, TYPES)


@st.composite
def values(draw: st.DrawFn, kind: Type, *, whole: bool = False) -> bytes:
    """Bytes of a value, mostly good ones. `whole`: in a row, where values of fixed length have it or are empty."""
    if draw(st.integers(0, 19)) == 0:
        return (
            b"" if whole and fixed_length(kind) is not None else draw(st.sampled_from([b"", b"", b"\0", b"\xff\xff"]))
        )
    return draw(_good(kind))


def fixed_length(kind: Type) -> int | None:
    if kind.name == "vector":
        inner = fixed_length(kind.args[0])
        return None if inner is None else inner * kind.size
    return WIDTHS[kind.name] if kind.name in FIXED else None


def _good(kind: Type) -> st.SearchStrategy[bytes]:
    if kind.name in WIDTHS:
        width = WIDTHS[kind.name]
        if kind.name == "timestamp":
            return st.integers(-(2**53), 2**53).map(lambda number: struct.pack(">q", number))
        return st.binary(min_size=width, max_size=width)
    match kind.name:
        case "text":
            return st.text(max_size=12).map(str.encode) | ODD_TEXTS
        case "ascii":
            return st.text(st.characters(max_codepoint=127), max_size=12).map(str.encode)
        case "blob":
            return st.binary(max_size=12)
        case "varint":
            return st.binary(min_size=1, max_size=17)
        case "decimal":
            scales = st.integers(-3, 20).map(lambda scale: struct.pack(">i", scale))
            return st.tuples(scales, st.binary(min_size=1, max_size=10)).map(b"".join)
        case "inet":
            return st.one_of(st.binary(min_size=4, max_size=4), st.binary(min_size=16, max_size=16))
        case "duration":
            parts = st.tuples(st.integers(0, 9), st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1))
            return st.tuples(parts, st.sampled_from([1, -1])).map(
                lambda drawn: b"".join(svint(part * drawn[1]) for part in drawn[0])
            )
        case "counter":
            return st.lists(st.tuples(st.sampled_from([-1, 0, 1]), totals), max_size=3).map(_shards)
        case _:
            return _composite(kind)


totals = st.one_of(st.integers(-9, 9), st.integers(-(2**62), 2**62), st.sampled_from([-(2**63), 2**63 - 1]))


def _shards(shards: list[tuple[int, int]]) -> bytes:
    """Shards by kind (global, local, remote) and total: a header element for each that is not remote."""
    numbers = [number + kind * 2**15 for number, (kind, _) in enumerate(shards) if kind <= 0]
    header = struct.pack(f">{len(numbers) + 1}h", len(numbers), *numbers)
    return header + b"".join(struct.pack(">16sqq", ID.bytes, 7 - total % 9, total) for _, total in shards)


@st.composite
def _composite(draw: st.DrawFn, kind: Type) -> bytes:
    if kind.name in ("tuple", "udt"):
        count = draw(st.integers(0, len(kind.args)))
        return b"".join(_part(draw(st.one_of(st.none(), values(arg)))) for arg in kind.args[:count])
    if kind.name == "vector":
        fixed = fixed_length(kind.args[0])
        parts = [draw(values(kind.args[0], whole=True)) for _ in range(kind.size)]
        if fixed is not None:
            return b"".join(part or bytes(fixed) for part in parts)
        return b"".join(uvint(len(part)) + part for part in parts)
    count = draw(st.integers(0, 3))
    made = [draw(values(arg)) for _ in range(count) for arg in kind.args]
    return struct.pack(">i", count) + b"".join(map(_part, made))


def _part(value: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if value is None else struct.pack(">i", len(value)) + value


@st.composite
def cells(draw: st.DrawFn, value: st.SearchStrategy[bytes], live: Liveness | None, path: bytes | None = None) -> Cell:
    """Mostly with the row's own times."""
    choice = draw(st.integers(0, 9))
    if choice == 0:
        return Cell(ts=TS + draw(st.integers(0, 2)), deleted=NOW, path=path)
    if choice == 1:
        return Cell(draw(value), TS + draw(st.integers(0, 2)), 60, NOW + 60, path=path)
    return draw(own_cells(value, live, path))


@st.composite
def own_cells(draw: st.DrawFn, value: st.SearchStrategy[bytes], live: Liveness | None, path: bytes | None) -> Cell:
    """With the row's own times."""
    if live is None:
        return Cell(draw(value), TS, path=path)
    if live.ttl is None:
        return Cell(draw(value), live.ts, path=path, like_row=1)
    return Cell(draw(value), live.ts, live.ttl, live.expires, path=path, like_row=2)


@st.composite
def complexes(draw: st.DrawFn, kind: Type, live: Liveness | None) -> Complex:
    """By element or, as often, assigned whole: all that was there is deleted just before."""
    made: list[Cell] = []
    whole = draw(st.booleans())
    for number in range(draw(st.integers(0, 4))):
        if kind.name == "udt":
            if number >= len(kind.args):
                break
            path, inner = number.to_bytes(2, "big"), kind.args[number]
        elif kind.name == "list":
            path, inner = draw(st.binary(min_size=16, max_size=16)), kind.args[0]
        else:
            path, inner = draw(values(kind.args[0])), kind.args[-1]
        value = st.just(b"") if kind.name == "set" else values(inner)
        made.append(draw(own_cells(value, live, path) if whole else cells(value, live, path)))
    if whole:
        before = draw(st.sampled_from([1, 1, 1, 1, 0, 2] if made else [0, 1, 1, 2]))
        return Complex(tuple(made), Deletion((TS if live is None else live.ts) - before, NOW))
    deletion = Deletion(TS - 1, NOW) if not made or draw(st.booleans()) else None
    return Complex(tuple(made), deletion)


@st.composite
def rows(draw: st.DrawFn, table: Table, *, static: bool = False) -> Row:
    clustering: list[bytes | None] = []
    if not static:
        for column in table.of_kind("clustering"):
            value = values(kind_of(column.type), whole=True)
            clustering.append(draw(st.one_of(value, value, value, st.none())))
    live = draw(
        st.sampled_from([Liveness(TS), Liveness(TS), Liveness(TS, 60, NOW + 60), None]) if not static else st.just(None)
    )
    deletion = Deletion(TS - 1, NOW) if draw(st.integers(0, 9)) == 0 and not static else None
    held: list[tuple[str, Cell | Complex]] = []
    for column in table.of_kind("static" if static else "regular"):
        if draw(st.integers(0, 3)):
            kind = kind_of(column.type)
            held.append((column.name, draw(complexes(kind, live) if kind.complex else _cell(kind, live))))
    return Row(tuple(clustering), live, deletion, tuple(held))


def _cell(kind: Type, live: Liveness | None) -> st.SearchStrategy[Cell]:
    return cells(values(kind, whole=True), live)


@st.composite
def keys(draw: st.DrawFn, table: Table) -> bytes:
    """A partition key."""
    return _key([draw(values(kind_of(column.type))) for column in table.of_kind("partition_key")]) or b"\0"


@st.composite
def clusterings(draw: st.DrawFn, table: Table) -> tuple[bytes, ...]:
    """A row's place in its partition, no value of it null."""
    return tuple(draw(values(kind_of(column.type), whole=True)) for column in table.of_kind("clustering"))


@st.composite
def column_lists(draw: st.DrawFn, table: Table) -> list[list[str]]:
    """The columns of one cell each that two statements set."""
    simple = [column.name for column in table.of_kind("regular") if not kind_of(column.type).complex]
    return [sorted(name for name in simple if draw(st.integers(0, 3))) for _ in range(2)]


@st.composite
def mixed(draw: st.DrawFn, first: Sequence[bytes], others: Sequence[bytes]) -> list[bytes]:
    """Mutations in any order behind the first ones."""
    shuffled = list(others)
    random.Random(draw(st.integers(0, 99))).shuffle(shuffled)
    return [*first, *shuffled]


@st.composite
def updates(draw: st.DrawFn, table: Table) -> Update:
    """A partition: rows, maybe a range deletion around one of them, a static row, a partition deletion."""
    key = draw(keys(table))
    found: list[Row | Marker] = [draw(rows(table)) for _ in range(draw(st.integers(0, 4)))]
    clustered = bool(table.of_kind("clustering"))
    if clustered and draw(st.integers(0, 2)) == 0:
        found = draw(ranges(table, found))
    static = draw(rows(table, static=True)) if table.of_kind("static") and draw(st.booleans()) else None
    if static is not None and not static.cells:
        static = None
    deletion = Deletion(TS, NOW) if draw(st.integers(0, 9)) == 0 else None
    return Update(table, key, tuple(found), static, deletion)


@st.composite
def ranges(draw: st.DrawFn, table: Table, found: list[Row | Marker]) -> list[Row | Marker]:
    """Range deletions before the rows, between or around them; one may end where the next begins."""
    deletions = [Deletion(TS + number, NOW) for number in range(3)]
    opens, closes = [Bound.INCL_START, Bound.EXCL_START], [Bound.INCL_END, Bound.EXCL_END]
    boundaries = [Bound.EXCL_END_INCL_START, Bound.INCL_END_EXCL_START]
    cut = draw(st.integers(0, len(found)))
    made: list[Row | Marker] = [draw(_marker(table, opens, (deletions[0],)))]
    made += found[:cut]
    if draw(st.booleans()):
        made.append(draw(_marker(table, boundaries, (deletions[0], deletions[1]))))
        made.append(draw(_marker(table, closes, (deletions[1],))))
    else:
        made.append(draw(_marker(table, closes, (deletions[0],))))
    if draw(st.booleans()):
        made.append(draw(_marker(table, opens, (deletions[2],))))
        made.append(draw(_marker(table, closes, (deletions[2],))))
    return made + found[cut:]


@st.composite
def _marker(draw: st.DrawFn, table: Table, kinds: list[Bound], deletions: tuple[Deletion, ...]) -> Marker:
    columns = table.of_kind("clustering")
    prefix = [draw(values(kind_of(c.type), whole=True)) for c in columns[: draw(st.integers(0, len(columns)))]]
    return Marker(draw(st.sampled_from(kinds)), tuple(prefix), deletions)


def _key(parts: Sequence[bytes]) -> bytes:
    if len(parts) == 1:
        return parts[0]
    return b"".join(len(part).to_bytes(2, "big") + part + b"\0" for part in parts)
