"""Tables that are dropped and created again with the same id, where the log that is there does not show the CREATE.

The server removes a segment without captured changes unread. What another consumer read of it is in the journal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tailer.schema.rows import SchemaDelta
from tests.helpers.image_runs import NOW, Runs
from tests.helpers.log_writer import (
    Cell,
    Column,
    Liveness,
    LogFolder,
    Row,
    SegmentWriter,
    Table,
    Update,
    add_column,
    captured_payload,
    completed,
    create_payload,
    drop_column,
    drop_keyspace,
    drop_table,
    encode_mutation,
    i32,
    live,
    segment_of,
    simple_table,
)

ONE = 1_700_000_000_000
TS = int(NOW * 1_000_000)
PLAIN, OTHER = simple_table("ks", "t"), simple_table("ks", "u", 2)
W = Column("w", "regular", "int")
WIDE = replace(PLAIN, columns=(*PLAIN.columns, W))


def insert(pk: int, ts: int, table: Table = PLAIN, **values: int) -> bytes:
    cells = tuple((name, Cell(i32(value), ts)) for name, value in values.items())
    return encode_mutation((Update(table, i32(pk), (Row((b"a",), Liveness(ts), None, cells),)),))


class Log:
    """A server's folder: segments with captured changes stay, others vanish."""

    def __init__(self, folder: Path) -> None:
        self._folder = LogFolder(folder / "cdc_raw")
        self._made: dict[int, SegmentWriter] = {}

    @property
    def path(self) -> Path:
        return self._folder.path

    def put(self, number: int, *payloads: bytes, captured: bool = True, open: bool = False) -> None:
        made = self._made[number] = segment_of(ONE + number, [[payload] for payload in payloads])
        self._folder.put(made, (live(made) if open else completed(made)) if captured else None)

    def vanish(self, number: int) -> None:
        self._folder.remove(self._made[number])


def images_of(log: Log, folder: Path, consumer: str, runs: Runs | None = None, at: float = 0, **options: Any) -> Runs:
    made = runs or Runs({"n1": log.path}, folder, consumer=consumer)
    made = replace(made, wall=lambda: NOW + at)
    made.run(**options)
    return made


def told(images: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(i["table"], i["op"], i["after"], i["complete"], i["event_id"]) for i in images]


FIRST_LIFE = (create_payload(PLAIN, TS), insert(1, TS + 1, v=1), encode_mutation(drop_table(PLAIN, TS + 10)))


def test_rows_prove_that_the_id_lives_again(tmp_path: Path) -> None:
    """Nobody read the CREATE, and nobody can be asked: the rows have images, and are not known whole."""
    log = Log(tmp_path)
    log.put(0, *FIRST_LIFE)
    log.put(2, insert(2, TS + 21, v=2), insert(3, TS + 22, v=3), open=True)
    runs = images_of(log, tmp_path / "images", "c")
    runs = images_of(log, tmp_path / "images", "c", runs, at=1)
    assert [(op, after, complete) for _, op, after, complete, _ in told(runs.taker.images)] == [
        ("insert", {"pk": 1, "ck": "a", "v": 1}, True),
        ("drop", None, True),
        ("upsert", {"pk": 2, "ck": "a", "v": 2}, False),
        ("upsert", {"pk": 3, "ck": "a", "v": 3}, False),
    ]


@pytest.mark.parametrize("more", [(), (OTHER,)], ids=["alone", "beside one that captures"])
def test_the_drop_of_a_table_that_does_not_capture_any_more(tmp_path: Path, more: Sequence[Table]) -> None:
    """Its rows go, as they do on the server."""
    log = Log(tmp_path)
    kept = [payload for table in more for payload in (create_payload(table, TS), insert(1, TS + 2, table, v=2))]
    gone = drop_keyspace("ks", TS + 10) if more else drop_table(PLAIN, TS + 10)
    toggled = captured_payload(PLAIN, cdc=False, ts=TS + 5)
    begun = [create_payload(PLAIN, TS), insert(1, TS + 1, v=1), *kept, toggled]
    log.put(0, *begun, open=True)
    live = images_of(log, tmp_path / "images", "c")
    log.put(0, *begun, encode_mutation(gone))
    live = images_of(log, tmp_path / "images", "c", live, at=1)
    later = images_of(log, tmp_path / "later", "later", at=2)
    drops = [("t", "drop"), *((table.name, "drop") for table in more)]
    for runs in (live, later):
        assert sorted((table, op) for table, op, *_ in told(runs.taker.images) if op == "drop") == drops


def test_hints_of_a_dropped_table_have_no_images(tmp_path: Path) -> None:
    """Long after the DROP: they are older. Nor do they hide that it is created again, by the same definitions."""
    log = Log(tmp_path)
    log.put(0, *FIRST_LIFE)
    log.put(2, insert(2, TS + 5, v=2))
    log.put(3, insert(3, TS + 6, v=3), insert(4, TS + 22, v=4), open=True)
    for consumer, at in (("c", 1), ("later", 2)):
        runs = images_of(log, tmp_path / consumer, consumer, at=at)
        assert [(op, after) for _, op, after, *_ in told(runs.taker.images)] == [
            ("insert", {"pk": 1, "ck": "a", "v": 1}),
            ("drop", None),
            ("upsert", {"pk": 4, "ck": "a", "v": 4}),
        ]


def test_writes_that_were_under_way_at_the_drop_have_no_images(tmp_path: Path) -> None:
    """They may be in the segment of the DROP, and in the one that it begins."""
    log = Log(tmp_path)
    log.put(0, *FIRST_LIFE, insert(2, TS + 11, v=2))
    log.put(1, insert(3, TS + 12, v=3), open=True)
    runs = images_of(log, tmp_path / "images", "c")
    assert [op for _, op, *_ in told(runs.taker.images)] == ["insert", "drop"]


def server_of(monkeypatch: pytest.MonkeyPatch, deltas: Sequence[SchemaDelta]) -> list[int]:
    """A server that knows these rows; how often it was asked."""
    asked: list[int] = []

    def read_server(server: object) -> list[SchemaDelta]:
        asked.append(1)
        return list(deltas)

    monkeypatch.setattr("tailer.definitions.outside.read_server", read_server)
    return asked


def rows_of_schema(table: Table, ts: int) -> list[SchemaDelta]:
    """What a server has of a table: rows of `system_schema` with their timestamps."""
    place = (table.name,)
    columns = [
        SchemaDelta(
            "columns",
            table.keyspace,
            (*place, column.name),
            {
                "kind": (ts, column.kind),
                "type": (ts, column.type),
                "position": (ts, 0 if column.kind in ("partition_key", "clustering") else -1),
                "clustering_order": (ts, "asc" if column.kind == "clustering" else "none"),
                "column_name_bytes": (ts, column.name.encode().hex()),
            },
            liveness=ts,
        )
        for column in table.columns
    ]
    cells = {"id": (ts, table.id.hex), "cdc": (ts, True)}
    return [SchemaDelta("tables", table.keyspace, place, cells, liveness=ts), *columns]


def test_the_server_is_asked_for_the_new_definition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before rows are given by the definition of the earlier life: the new one may have other columns."""
    asked = server_of(monkeypatch, rows_of_schema(PLAIN, TS))
    log = Log(tmp_path)
    log.put(0, *FIRST_LIFE[:2], open=True)
    runs = images_of(log, tmp_path / "images", "c", server="127.0.0.1:1")
    log.put(0, *FIRST_LIFE)
    log.put(2, insert(2, TS + 21, WIDE, v=2, w=7), open=True)
    asked.clear()
    server_of(monkeypatch, rows_of_schema(WIDE, TS + 20))
    runs = images_of(log, tmp_path / "images", "c", runs, at=1, server="127.0.0.1:1")
    log.put(2, insert(2, TS + 21, WIDE, v=2, w=7), insert(3, TS + 22, WIDE, v=3, w=8), open=True)
    runs = images_of(log, tmp_path / "images", "c", runs, at=2, server="127.0.0.1:1")
    assert [(op, after) for _, op, after, _, _ in told(runs.taker.images)] == [
        ("insert", {"pk": 1, "ck": "a", "v": 1}),
        ("drop", None),
        ("insert", {"pk": 2, "ck": "a", "v": 2, "w": 7}),
        ("insert", {"pk": 3, "ck": "a", "v": 3, "w": 8}),
    ]


@pytest.mark.parametrize("toggled", [False, True])
def test_a_response_shows_that_nobody_saw_the_drop_and_the_create(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toggled: bool
) -> None:
    """All columns of the table are newer than any was: no other statement writes them all. Where it captured from its
    CREATE on, all of its rows are known."""
    server_of(monkeypatch, rows_of_schema(PLAIN, TS))
    log = Log(tmp_path)
    log.put(0, *FIRST_LIFE[:2], open=True)
    live = images_of(log, tmp_path / "images", "c", server="127.0.0.1:1")
    log.put(0, *FIRST_LIFE[:2])
    log.put(2, insert(2, TS + 21, v=2), open=True)
    heading, *columns = rows_of_schema(PLAIN, TS + 20)
    server_of(monkeypatch, [*rows_of_schema(PLAIN, TS + 21)[:1], *columns] if toggled else [heading, *columns])
    live = images_of(log, tmp_path / "images", "c", live, at=1, server="127.0.0.1:1")
    later = images_of(log, tmp_path / "later", "later", at=2, server="127.0.0.1:1")
    for runs in (live, later):
        assert [(op, after) for _, op, after, _, _ in told(runs.taker.images)] == [
            ("insert", {"pk": 1, "ck": "a", "v": 1}),
            ("drop", None),
            ("upsert" if toggled else "insert", {"pk": 2, "ck": "a", "v": 2}),
        ]


@pytest.mark.parametrize("altered", ["ADD", "RENAME", "the type of all other columns", "nothing"])
def test_an_altered_table_is_not_taken_for_one_that_was_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, altered: str
) -> None:
    server_of(monkeypatch, rows_of_schema(PLAIN, TS))
    log = Log(tmp_path)
    log.put(0, *FIRST_LIFE[:2])
    runs = images_of(log, tmp_path / "images", "c", server="127.0.0.1:1")
    now = WIDE if altered == "ADD" else PLAIN
    if altered == "RENAME":
        now = replace(PLAIN, columns=tuple(replace(c, name="key") if c.name == "pk" else c for c in PLAIN.columns))
    # The row of `tables` is written again by each ALTER.
    (heading, *columns), (_, *newer) = rows_of_schema(now, TS + 20), rows_of_schema(now, TS)
    fresh = {"ADD": ("w",), "RENAME": ("key",), "nothing": ()}.get(altered, ("ck", "v"))
    mixed = [new if new.clustering[-1] in fresh else old for new, old in zip(columns, newer, strict=True)]
    server_of(monkeypatch, [heading, *mixed])
    log.put(2, insert(2, TS + 21, now, v=2), open=True)
    runs = images_of(log, tmp_path / "images", "c", runs, at=1, server="127.0.0.1:1")
    assert "drop" not in [op for _, op, *_ in told(runs.taker.images)]


CHANGES = {
    "created again": [encode_mutation(drop_table(PLAIN, TS + 10)), create_payload(PLAIN, TS + 20)],
    "columns": [
        encode_mutation(add_column(PLAIN, W, TS + 10)),
        encode_mutation(drop_column(WIDE, W, TS + 20)),
        encode_mutation(add_column(PLAIN, W, TS + 30)),
    ],
    "capture": [captured_payload(PLAIN, cdc=False, ts=TS + 10), captured_payload(PLAIN, cdc=True, ts=TS + 20)],
    "created": [create_payload(simple_table("ks", "x", 9), TS + 10)],
}


@pytest.mark.parametrize("what", CHANGES)
def test_definitions_of_a_segment_that_vanished_take_effect_at_their_positions(tmp_path: Path, what: str) -> None:
    """One consumer read the segment, two did not: one that lags, and one that stopped before. All give the same."""
    x = simple_table("ks", "x", 9)
    log = Log(tmp_path)
    log.put(0, create_payload(PLAIN, TS), create_payload(OTHER, TS), insert(1, TS + 1, v=1), open=True)
    live_one = images_of(log, tmp_path / "live", "live")
    stopped = images_of(log, tmp_path / "stopped", "stopped")
    log.put(0, create_payload(PLAIN, TS), create_payload(OTHER, TS), insert(1, TS + 1, v=1))
    log.put(1, *CHANGES[what], captured=False)
    last = [insert(5, TS + 41, OTHER, v=5), insert(2, TS + 42, x if what == "created" else PLAIN, v=2)]
    log.put(2, last[0], open=True)
    live_one = images_of(log, tmp_path / "live", "live", live_one, at=1)
    log.vanish(1)
    log.put(2, *last, open=True)
    live_one = images_of(log, tmp_path / "live", "live", live_one, at=2)
    stopped = images_of(log, tmp_path / "stopped", "stopped", stopped, at=3)
    lagging = images_of(log, tmp_path / "lag", "lag", at=4)
    expected = told(live_one.taker.images)
    assert told(stopped.taker.images) == expected
    assert told(lagging.taker.images) == expected
    ops = [(table, op, complete) for table, op, _, complete, _ in expected]
    assert ops == {
        "created again": [("t", "insert", True), ("t", "drop", True), ("u", "insert", True), ("t", "insert", True)],
        "columns": [
            ("t", "insert", True), ("t", "schema", True), ("t", "schema", True), ("t", "schema", True),
            ("u", "insert", True), ("t", "insert", True),
        ],
        "capture": [("t", "insert", True), ("u", "insert", True), ("t", "upsert", False)],
        "created": [("t", "insert", True), ("u", "insert", True), ("x", "insert", True)],
    }[what]  # fmt: skip


def test_a_consumer_that_begins_between_two_lives_knows_the_second_whole(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.put(0, *FIRST_LIFE)
    log.put(1, insert(9, TS + 15, OTHER, v=1), open=True)
    images_of(log, tmp_path / "first", "first", schema_file=_schema(tmp_path))
    log.vanish(0)
    log.put(1, insert(9, TS + 15, OTHER, v=1), create_payload(PLAIN, TS + 20), insert(2, TS + 21, v=2), open=True)
    runs = images_of(log, tmp_path / "second", "second", at=1)
    assert [(table, op, complete) for table, op, _, complete, _ in told(runs.taker.images)] == [
        ("u", "upsert", False),
        ("t", "insert", True),
    ]


def _schema(tmp_path: Path) -> Path:
    schema = tmp_path / "schema.cql"
    schema.write_text(
        f"CREATE TABLE ks.u (pk int, ck text, v int, PRIMARY KEY (pk, ck)) WITH ID = {OTHER.id} AND cdc = true;"
    )
    return schema


def test_rows_of_two_lives_have_numbers_by_which_their_definitions_are_told_apart(tmp_path: Path) -> None:
    """Also where all of them are merged at one moment: what keeps a table chooses the definition by the number."""
    log = Log(tmp_path)
    rows = [insert(1, TS + number, v=number) for number in range(1, 6)]
    log.put(0, create_payload(PLAIN, TS), *rows, encode_mutation(drop_table(PLAIN, TS + 10)),
            create_payload(WIDE, TS + 20), insert(2, TS + 21, WIDE, v=2, w=2), open=True)  # fmt: skip
    runs = images_of(log, tmp_path / "images", "c")
    images = runs.taker.images
    stream = runs.stream()
    stream.open()
    definitions = stream.definitions(PLAIN.id.hex)
    stream.close()
    for image in images:
        if image["op"] == "drop":
            continue
        held = [each for seq, each in definitions if seq <= image["seq"]][-1]
        assert {column.name for column in held.columns} == set(image["after"])


@pytest.mark.parametrize("second", [PLAIN, WIDE], ids=["the same columns", "other columns"])
def test_a_response_of_the_first_life_counts_where_it_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: Table
) -> None:
    """The log shows the second CREATE, and neither the first one nor the DROP. A consumer that lags reads the rows of
    the first life by what the server said to another consumer at that time."""
    log = Log(tmp_path)
    log.put(0, insert(9, TS, OTHER, v=1), insert(1, TS + 5, v=1), open=True)
    server_of(monkeypatch, [*rows_of_schema(OTHER, TS - 9), *rows_of_schema(PLAIN, TS + 1)])
    live_one = images_of(log, tmp_path / "live", "live", server="127.0.0.1:1")
    log.put(0, insert(9, TS, OTHER, v=1), insert(1, TS + 5, v=1), create_payload(second, TS + 20), open=True)
    server_of(monkeypatch, [*rows_of_schema(OTHER, TS - 9), *rows_of_schema(second, TS + 20)])
    live_one = images_of(log, tmp_path / "live", "live", live_one, at=1, server="127.0.0.1:1")
    lagging = images_of(log, tmp_path / "lag", "lag", at=2, server="127.0.0.1:1")
    rows = [[(op, after) for _, op, after, _, _ in told(one.taker.images)] for one in (live_one, lagging)]
    assert rows[1] == rows[0]
    assert rows[0] == [
        ("upsert", {"pk": 9, "ck": "a", "v": 1}),
        ("upsert", {"pk": 1, "ck": "a", "v": 1}),
        ("drop", None),
    ]
