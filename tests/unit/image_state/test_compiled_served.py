"""A piece of a snapshot by compiled code, and by the plain merge: the same state and the same images, byte by byte."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.errors import UsageError
from tailer.image_state.file import ImageFile
from tailer.image_state.one_transaction import Transaction
from tailer.images import Merger, Settings
from tailer.images.encoded import EncodedImages, JoinedImages
from tailer.images.marks import Mark
from tailer.images.served import Answer, EventIds
from tailer.rebuild import Table
from tailer.rebuild.changes import row_key_of
from tailer.rebuild.table import plan_of
from tailer.schema.model import Column, TableDefinition, TypeField
from tailer.schema.server_rows import Row
from tailer.snapshot.raw_rows import split
from tailer.snapshot.reading import ReadPiece, TableReading
from tailer.types import murmur3_token
from tests.unit.scan.compiled.twins import compiled_only
from tests.unit.snapshot.test_change_row import FEW, ID, MORE, collection, i32, i64
from tests.unit.snapshot.test_raw_rows import page

pytestmark = compiled_only

SECOND = 1_700_000_000
NOW = (SECOND + 40) * 1_000_000
UNTIL = (SECOND + 5) * 1_000_000
NODES = ("n1", "n2")
MARKS = (Mark(0, (7, 40)), Mark(1, (7, 80)))

KEYS = (
    Column("id", "partition_key", "text", 0),
    Column("part", "partition_key", "int", 1),
    Column("x", "clustering", "text", 0),
    Column("y", "clustering", "int", 1, desc=True),
)
DATA = (
    Column("a", "regular", "int"),
    Column("b", "regular", "text"),
    Column("d", "regular", "double"),
    Column("f", "regular", "frozen<list<int>>"),
    Column("m", "regular", "set<int>"),
    Column("s", "static", "int"),
)
WIDE = Table.of(TableDefinition(ID, "shop", "Odd", (*KEYS, *DATA), cdc=True))
BARE = Table.of(TableDefinition(ID, "shop", "bare", (KEYS[0],), cdc=True))
ALONE = Table.of(TableDefinition(ID, "shop", "alone", (KEYS[0], Column("v", "regular", "text")), cdc=True))

times = st.integers(-3, 3).map(lambda at: i64(UNTIL + at))
lefts = st.none() | st.sampled_from([i32(30), i32(600)])


def simple(values: st.SearchStrategy[bytes]) -> st.SearchStrategy[Row]:
    return st.just((None, None, None)) | st.tuples(values, times, lefts)


ints = st.sampled_from([b"", i32(0), i32(-7), i32(2**31 - 1)])
texts = st.sampled_from([b"", b"x", b'q"\n', "é€".encode(), b"longer than it was before " * 9])
doubles = st.sampled_from([b"\0" * 8, b"\x3f\xf8" + b"\0" * 6, b"\x7f\xf8" + b"\0" * 6])
lists = st.sampled_from([i32(0), i32(1) + i32(4) + i32(5)])
sets = st.just((None, None, None)) | st.tuples(
    st.just(collection([i32(1)])), times.map(lambda at: collection([at])), st.just(collection([None]))
)


@st.composite
def wide(draw: st.DrawFn) -> list[Row]:
    """Rows as a server gives them: by token, and in a partition by clustering."""
    rows: list[Row] = []
    plan = plan_of(WIDE)
    ids = st.sampled_from([b"", b"k", b"zero\0"])
    xs = st.sampled_from([b"", b"a", b"b"])
    for id, part in draw(st.lists(st.tuples(ids, ints.filter(bool)), unique=True, max_size=4)):
        whole = b"".join(len(each).to_bytes(2, "big") + each + b"\0" for each in (id, part))
        token = draw(st.sampled_from([murmur3_token(whole)] * 9 + [5]))
        static: Row = draw(st.sampled_from([(None, None, None)] * 4 + [(i32(3), i64(UNTIL), None)]))
        keys = draw(st.lists(st.tuples(xs, ints), unique=True, max_size=4))
        for x, y in sorted(keys, key=lambda values: row_key_of(plan, values)[0]):
            more = [draw(simple(each)) for each in (ints, texts, doubles, lists)]
            some: Row = (None, None, None) if draw(st.integers(0, 9)) else draw(sets)
            rows.append((i64(token), id, part, x, y, *static, *(v for each in more for v in each), *some))
    return sorted(rows, key=token_of_row)


def token_of_row(row: Row) -> int:
    return int.from_bytes(row[0] or b"", "big", signed=True)


@st.composite
def alone(draw: st.DrawFn) -> list[Row]:
    keys = draw(st.lists(st.sampled_from([b"", b"k", b"\0\1", b"long" * 70]), unique=True, max_size=4))
    rows: list[Row] = [(i64(murmur3_token(id)), id, *draw(simple(texts))) for id in keys]
    return sorted(rows, key=token_of_row)


def merged(
    table: Table, pieces: Sequence[Sequence[Row]], before: list[dict[str, Any]], compiled: bool, **how: Any
) -> tuple[bytes, dict[bytes, bytes], int]:
    """Images and state after some pieces; how many rows compiled code has done."""
    plan = plan_of(table)
    session: Any = None
    reading = TableReading(session, plan, "5.0.9", "ONE")
    columns = 1 + len(plan.key) + len(reading.wanted.texts)
    lane: Any = import_module("tailer.image_state.compiled.served_lane") if compiled else None
    done = 0

    def work(transaction: Transaction) -> bytes:
        nonlocal done
        merger, images = Merger(transaction.store, NODES, Settings(0)), EncodedImages()
        merger.define(table, created=False, cdc=True, now_us=NOW - 1)
        for change in before:
            images.add(merger.entry([change], NOW - 1))
        ids, low = EventIds("snapshot:i:0:"), -(2**63)
        for rows in pieces:
            high = 2**63 - 1 if rows is pieces[-1] else token_of_row(rows[-1])
            piece = ReadPiece(low, high, split(page(rows, columns)), SECOND + 39, UNTIL, reading)
            answer = Answer(UNTIL, how.get("complete", True), MARKS, ids)
            known = merger.table(ID)
            assert known is not None
            held = merger.held(ID, low, high)
            left = piece.raw
            if compiled and lane.is_for(known, piece, answer):
                left = lane.serve(merger, transaction.store, known, piece, answer, held, NOW, images)
            images.add(merger.served(ID, piece.found(left), answer, NOW, held))
            done += len(piece.raw) - len(left)
            low = high
        return images.joined()

    with tempfile.TemporaryDirectory() as folder, ImageFile(Path(folder)) as file:
        made = file.write(work)
        return made, file.read(everything), done


def everything(seen: Transaction) -> dict[bytes, bytes]:
    found = {}
    for name, database in seen._rows.items():
        with seen._transaction.cursor(database) as cursor:
            found.update({name + key: value for key, value in cursor})
    return found


def by_image(joined: bytes) -> list[str]:
    """Images in an order of their own: the plain merge tells its partitions behind the others, with later numbers."""
    return sorted(repr(msgspec.structs.replace(image, event_id="")) for image in JoinedImages(joined).images)


@given(wide(), st.booleans())
def test_it_is_what_the_plain_merge_makes_of_it(rows: list[Row], complete: bool) -> None:
    plain, state, _ = merged(WIDE, [rows], [], False, complete=complete)
    made, same, _ = merged(WIDE, [rows], [], True, complete=complete)
    assert by_image(made) == by_image(plain)
    assert same == state


@given(alone())
def test_so_it_is_without_clustering(rows: list[Row]) -> None:
    plain, state, _ = merged(ALONE, [rows], [], False)
    made, same, done = merged(ALONE, [rows], [], True)
    assert by_image(made) == by_image(plain)
    assert same == state
    assert done == len([row for row in rows if len(row[1] or b"") < 200])


def test_a_table_of_a_key_alone_and_two_pieces() -> None:
    rows: list[Row] = sorted([(i64(murmur3_token(id)), id) for id in (b"a", b"b", b"c")], key=token_of_row)
    plain, state, _ = merged(BARE, [rows[:1], rows[1:]], [], False)
    made, same, done = merged(BARE, [rows[:1], rows[1:]], [], True)
    assert (made, same, done) == (plain, state, 3)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_value_with_a_field_that_the_log_has_not_shown_is_refused(compiled: bool) -> None:
    pair = {"pair": (TypeField("a", "int"), TypeField("b", "text"))}
    columns = KEYS[0], Column("u", "regular", "frozen<pair>")
    table = Table.of(TableDefinition(ID, "shop", "fields", columns, cdc=True, types=pair))
    few, more = ((i64(murmur3_token(b"a")), b"a", fields, i64(UNTIL), None) for fields in (FEW, MORE))
    made, _, _ = merged(table, [[few]], [], compiled)
    assert '"u":{"a":1,"b":"x"}' in by_image(made)[0]
    with pytest.raises(UsageError, match="does not fit the definition that the log has shown"):
        merged(table, [[more]], [], compiled)
