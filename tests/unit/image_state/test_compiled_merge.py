"""The compiled merge of a batch is the plain one: the same images and the same state, byte by byte."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import lmdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailer.options.token_range import TokenRange
from tailer.schema.model import Column, TableDefinition, TypeField
from tests.helpers.images.both_lanes import NODES, SECOND, Lanes, environments
from tests.helpers.logs.model import Bound, Cell, Complex, Deletion, Liveness, Marker, Row, Update
from tests.helpers.logs.model import Column as LogColumn
from tests.helpers.logs.model import Table as LogTable
from tests.helpers.logs.mutation import encode_mutation
from tests.helpers.odd_texts import BYTES, MARKED
from tests.unit.scan.compiled.twins import compiled_only

pytestmark = compiled_only

BEGAN = 1_700_000_000
TIMESTAMPS = st.integers(BEGAN * SECOND - 2, BEGAN * SECOND + 6)
TTLS = st.sampled_from([1, 20, 300_000])
SIMPLE = {
    "v": ("int", [b"\0\0\0\1", b"\0\0\0\2", b""]),
    "w": ("text", [b"a", b'b"\0', "ä".encode(), b"x" * 300, *BYTES]),
    "u": ("double", [b"\x3f\xf0" + bytes(6), b"\x7f\xf8" + bytes(6), b"\x80" + bytes(7)]),
    "b": ("boolean", [b"\0", b"\1", b"\2"]),
    "l": ("frozen<list<int>>", [b"\0\0\0\0", b"\0\0\0\1\0\0\0\4\0\0\0\7"]),
}
KEYS = [b"\0\0\0\1", b"\0\0\0\2"]
UUIDS = [bytes((at, 0, 0, 0, 0, 1, 0x11, 7)) + b"\x80" * 8 for at in (3, 1, 2)]
COLLECTIONS = {
    "m": ("set<int>", [*KEYS, b"\xff\xff\xff\xff", b""], [b""]),
    "n": ("map<text, double>", [b"a", b"", b"a\0", b'"', *BYTES, MARKED], SIMPLE["u"][1]),
    "o": ("list<text>", UUIDS, SIMPLE["w"][1]),
    "p": ("map<uuid, frozen<list<int>>>", UUIDS, SIMPLE["l"][1]),
    "r": ("pair", [b"\0\0", b"\0\1"], KEYS),
    "q": ("map<float, int>", [b"\x3f\x80\0\0", b"\xbf\x80\0\0", b"\x7f\xc0\0\1", b"\x80\0\0\0"], KEYS),
}
PAIR = {"pair": (TypeField("f", "int"), TypeField("g", "int"))}
CLUSTERING = {
    "x": ("int", False, [b"\0\0\0\1", b"\xff\xff\xff\xff", b"\0\0\1\0"]),
    "y": ("text", True, [b"a", b"ab", *BYTES, MARKED]),
    "z": ("timeuuid", False, [bytes(range(6)) + b"\x11" + bytes(range(9)), bytes(range(1, 7)) + b"\x11" + b"\xf0" * 9]),
}


class Kind:
    """A table's columns, drawn."""

    def __init__(self, number: int, clustering: tuple[str, ...], regular: tuple[str, ...], more: bool) -> None:
        keys = [("k", "partition_key", "int", 0, False)]
        keys += [
            (name, "clustering", CLUSTERING[name][0], at, CLUSTERING[name][1]) for at, name in enumerate(clustering)
        ]
        data = [(name, "regular", SIMPLE[name][0], -1, False) for name in regular]
        self.many = COLLECTIONS if more else {}
        data += [(name, "regular", text, -1, False) for name, (text, _, _) in self.many.items()]
        data += [("s", "static", "int", -1, False)] if more and clustering else []
        self.clustering, self.regular, self.more = clustering, regular, more
        id = UUID(int=number << 64 | 0x11EE << 48 | 0x8888 + number)
        self.log = LogTable(id, "ks", f"t{number}", tuple(LogColumn(*column) for column in keys + data))
        columns = tuple(Column(name, kind, text, at, desc=desc) for name, kind, text, at, desc in keys + data)
        self.definition = TableDefinition(id.hex, "ks", f"t{number}", columns, cdc=True, types=PAIR if more else {})


@st.composite
def cells(draw: st.DrawFn, name: str) -> Cell:
    ts = draw(TIMESTAMPS)
    if draw(st.integers(0, 4)) == 0:
        return Cell(b"", ts, deleted=BEGAN)
    value = draw(st.sampled_from(SIMPLE[name][1] if name in SIMPLE else KEYS))
    if draw(st.integers(0, 3)):
        return Cell(value, ts)
    ttl = draw(TTLS)
    return Cell(value, ts, ttl, BEGAN + ttl)


@st.composite
def collections(draw: st.DrawFn, name: str) -> Complex:
    """Elements that are put or removed, of a collection that is replaced or not."""
    _, paths, values = COLLECTIONS[name]
    deletion = draw(st.none() | st.builds(Deletion, TIMESTAMPS, st.just(BEGAN)))
    chosen = draw(st.lists(st.sampled_from(paths), unique=True, min_size=0 if deletion else 1, max_size=3))
    elements = []
    for path in chosen:
        one = draw(cells(name))
        value = b"" if one.deleted else draw(st.sampled_from(values))
        elements.append(replace(one, value=value, path=path))
    return Complex(tuple(elements), deletion)


@st.composite
def rows(draw: st.DrawFn, kind: Kind) -> Row:
    key = tuple(draw(st.sampled_from(CLUSTERING[name][2])) for name in kind.clustering)
    what = draw(st.integers(0, 9))
    deletion = Deletion(draw(TIMESTAMPS), BEGAN) if what < 2 else None
    if what == 0:
        return Row(key, None, deletion, ())
    names = (
        draw(st.lists(st.sampled_from(kind.regular), unique=True, min_size=0 if what < 6 else 1))
        if kind.regular
        else []
    )
    put: list[tuple[str, Any]] = [(name, draw(cells(name))) for name in sorted(names)]
    for name in draw(st.lists(st.sampled_from(sorted(kind.many)), unique=True, max_size=2)) if kind.many else []:
        put.append((name, draw(collections(name))))
    live = None
    if what < 6 or not put:
        ttl = draw(st.none() | TTLS)
        live = Liveness(draw(TIMESTAMPS), ttl, None if ttl is None else BEGAN + ttl)
    return Row(key, live, deletion, tuple(sorted(put, key=lambda each: each[0])))


@st.composite
def updates(draw: st.DrawFn, kind: Kind) -> Update:
    key = draw(st.sampled_from(KEYS))
    held = {row.clustering: row for row in draw(st.lists(rows(kind), min_size=1, max_size=3))}
    # A log has them in clustering order; of one row this is any order.
    some: list[Row | Marker] = (
        list(held.values()) if len(held) == 1 or not kind.clustering else [next(iter(held.values()))]
    )
    if kind.clustering == ("x",):
        some = [held[key] for key in sorted(held, key=lambda key: int.from_bytes(key[0], "big", signed=True))]
    static = deletion = None
    rare = draw(st.integers(0, 13)) if kind.more else 19
    if rare == 0:
        deletion = Deletion(draw(TIMESTAMPS), BEGAN)
    elif rare == 1 and kind.clustering:
        static = Row((), None, None, (("s", draw(cells("s"))),))
    elif rare == 2 and kind.clustering:
        gone = Deletion(draw(TIMESTAMPS), BEGAN)
        edges = tuple(draw(st.sampled_from(CLUSTERING[name][2])) for name in kind.clustering[:1])
        some = [Marker(Bound.INCL_START, edges, (gone,)), Marker(Bound.INCL_END, edges, (gone,))]
        if draw(st.booleans()):
            some = [Marker(Bound.INCL_START, (), (gone,)), Marker(Bound.EXCL_END, edges, (gone,))]
    return Update(kind.log, key, tuple(some), static, deletion)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Kind], list[tuple[str, list[bytes], float, str, Any]], dict[str, Any]]:
    clustering = draw(st.sampled_from([(), ("x",), ("y",), ("z",), ("x", "y")]))
    regular = tuple(draw(st.lists(st.sampled_from(sorted(SIMPLE)), unique=True, max_size=4)))
    kinds = [Kind(1, clustering, regular, draw(st.booleans())), Kind(2, ("x",), ("v",), False)]
    entries = [
        encode_mutation(tuple(draw(st.lists(st.sampled_from(kinds).flatmap(updates), min_size=1, max_size=2))))
        for _ in range(draw(st.integers(1, 8)))
    ]
    # Each of them is logged some times, by any node, now or much later.
    batches = []
    at = 1.0
    for _ in range(draw(st.integers(1, 4))):
        at += draw(st.sampled_from([0.0, 0.5, 30.0, 90_000.0, 2_000_000.0]))
        before = draw(st.sampled_from(["nothing", "nothing", "expire", "forget", "lost", "serve_half", "serve_all"]))
        tokens = draw(st.sampled_from([None, None, None, TokenRange(-(2**63), 0)]))
        some = draw(st.lists(st.sampled_from(entries), min_size=1, max_size=8))
        batches.append((draw(st.sampled_from(NODES)), some, at, before, tokens))
    return kinds, batches, {"created": draw(st.booleans())}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[lmdb.Environment[bytes]]]:
    with environments(tmp_path_factory.mktemp("lanes")) as made:
        yield made


@given(histories(), st.booleans(), st.sampled_from([None, (1, 1, 512), (700, 700, 700)]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
def test_both_lanes_are_one(
    files: list[lmdb.Environment[bytes]], made: Any, expirations: bool, room: tuple[int, int, int] | None
) -> None:
    kinds, batches, how = made
    lanes = Lanes(files, BEGAN * SECOND, expirations=expirations)
    try:
        for kind in kinds:
            lanes.define(kind.definition, BEGAN * SECOND, **how)
        for node, payloads, at, before, tokens in batches:
            now_us = BEGAN * SECOND + int(at * SECOND)
            if before != "nothing":
                getattr(lanes, before)(now_us)
            lanes.tell(node, payloads, now_us, room, tokens)
    finally:
        lanes.close()


ONE = b"\0\0\0\1"


def one(kind: Kind, x: bytes, ts: int) -> bytes:
    """An INSERT of a row of one value."""
    row = Row((x,), Liveness(ts), None, (("v", Cell(b"\0\0\0\1", ts)),))
    return encode_mutation((Update(kind.log, KEYS[0], (row,)),))


def test_rows_beneath_deletions_of_ranges(files: list[lmdb.Environment[bytes]]) -> None:
    """The deletions themselves are merged the plain way, and all that their partition has in the same batch."""
    kind, ts = Kind(2, ("x",), ("v",), False), BEGAN * SECOND
    first, last = CLUSTERING["x"][2][1], CLUSTERING["x"][2][0]
    gone = Deletion(ts + 5, BEGAN)
    markers = (Marker(Bound.INCL_START, (first,), (gone,)), Marker(Bound.EXCL_END, (last,), (gone,)))
    lanes = Lanes(files, ts)
    try:
        lanes.define(kind.definition, ts, created=False)
        lanes.tell("a", [one(kind, x, ts) for x in (first, last)], ts)
        lanes.tell("a", [encode_mutation((Update(kind.log, KEYS[0], markers),))], ts)
        assert (lanes.rows, lanes.by_compiled, lanes.images) == (3, 2, 4)
        # Nothing of the older ones is kept but for another node's mark, which a TRUNCATE may leave.
        for node, late in (("a", 4), ("b", 4), ("b", 6), ("c", 7)):
            lanes.tell(node, [one(kind, x, ts + late) for x in (first, last)], ts + SECOND)
        assert (lanes.rows, lanes.by_compiled) == (11, 10)
        lanes.tell("b", [encode_mutation((Update(kind.log, KEYS[0], markers),))], ts + 2 * SECOND)
        lanes.tell("c", [one(kind, first, ts + 1)], ts + 2 * SECOND)
        assert (lanes.rows, lanes.by_compiled) == (13, 11)
    finally:
        lanes.close()


@contextmanager
def guessed(files: list[lmdb.Environment[bytes]]) -> Iterator[tuple[Lanes, Kind, int]]:
    """A row whose marker a snapshot has guessed; and when that was."""
    kind, ts = Kind(2, ("x",), ("v",), False), BEGAN * SECOND
    lanes = Lanes(files, ts)
    try:
        lanes.define(kind.definition, ts, created=False)
        lanes.tell("a", [one(kind, ONE, ts)], ts)
        lanes.serve_all(ts + SECOND)
        yield lanes, kind, ts + SECOND
    finally:
        lanes.close()


def test_a_marker_of_the_time_of_a_guess(files: list[lmdb.Environment[bytes]]) -> None:
    """What is known counts, whichever came first."""
    with guessed(files) as (lanes, kind, now):
        for late in (lanes.until + 1, lanes.until + 2):
            lanes.tell("a", [one(kind, ONE, late)], now + SECOND)
        assert lanes.by_compiled == 3


def test_a_guess_that_has_ended(files: list[lmdb.Environment[bytes]]) -> None:
    """When the last value is deleted, nobody but a server can tell whether the row is there."""
    with guessed(files) as (lanes, kind, now):
        now += 60 * SECOND
        lanes.expire(now)
        for late in (2, 3):
            gone = Row((ONE,), None, None, (("v", Cell(b"", lanes.until + late, deleted=BEGAN)),))
            lanes.tell("a", [encode_mutation((Update(kind.log, KEYS[0], (gone,)),))], now)
        assert lanes.by_compiled == 1


def test_elements_of_collections(files: list[lmdb.Environment[bytes]]) -> None:
    """Put, removed and replaced: all by compiled code."""
    kind, ts = Kind(1, (), ("v",), True), BEGAN * SECOND

    def put(at: int, *paths: bytes, whole: bool = False, gone: bool = False, name: str = "n") -> bytes:
        value = {"n": b"\x3f\xf0" + bytes(6), "m": b"", "o": b"text"}[name]
        elements = [Cell(b"" if gone else value, ts + at, path=path, deleted=BEGAN if gone else None) for path in paths]
        column = Complex(tuple(elements), Deletion(ts + at - 1, BEGAN) if whole else None)
        return encode_mutation((Update(kind.log, KEYS[0], (Row((), None, None, ((name, column),)),)),))

    lanes = Lanes(files, ts)
    try:
        lanes.define(kind.definition, ts, created=True)
        told = [put(1, b"b", b"a"), put(2, b"", b"c"), put(3, b"a", gone=True), put(4, b"d", whole=True)]
        told += [put(5, KEYS[1], KEYS[0], b"\xff\xff\xff\xff", name="m"), put(6, KEYS[0], gone=True, name="m")]
        told += [put(7, *UUIDS, name="o"), put(8, UUIDS[0], gone=True, name="o"), put(9, whole=True, name="o")]
        lanes.tell("a", told, ts)
        assert lanes.images == lanes.by_compiled == 9
        lanes.tell("b", told[::-1], ts)
        assert (lanes.images, lanes.by_compiled) == (9, 18)
    finally:
        lanes.close()


def test_a_row_that_has_a_type_of_fields(files: list[lmdb.Environment[bytes]]) -> None:
    """Such a column is not for compiled code, nor is a row that has one, whatever an entry says of it."""
    kind, ts = Kind(1, (), ("v",), True), BEGAN * SECOND
    fields = Complex((Cell(KEYS[0], ts, path=b"\0\0"), Cell(KEYS[1], ts, path=b"\0\1")), None)

    def told(at: int, name: str, cell: Any) -> bytes:
        return encode_mutation((Update(kind.log, KEYS[0], (Row((), Liveness(ts + at), None, ((name, cell),)),)),))

    lanes = Lanes(files, ts)
    try:
        lanes.define(kind.definition, ts, created=True)
        lanes.tell("a", [told(1, "r", fields)], ts)
        lanes.tell("a", [told(2, "v", Cell(KEYS[1], ts + 2))], ts)
        assert (lanes.images, lanes.by_compiled) == (2, 0)
    finally:
        lanes.close()
