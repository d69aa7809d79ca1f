"""A table that images keep, image by image and in any commits: what is known stands there, and nothing that is not."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest

from tailer.errors import RefusedError, SinkError, UsageError
from tailer.images.image import Image, arrow_schema
from tailer.images.image_rows import ImageRows
from tailer.schema.model import Column, TableDefinition, TypeField
from tailer.sinks.image_node import image_node
from tailer.sinks.outlet import ImagesForm, OutletContext, OutletKey, Place, ReportsEnd
from tailer.sinks.outlets import open_outlet
from tests.helpers.cli import run_cli
from tests.helpers.data_files import GIVEN, refuse
from tests.unit.sinks.database.followed import log, words
from tests.unit.sinks.database.targets import Duckdb, Sqlite, Target

KEY = OutletKey("5f4e", "images", "c")
ID, OTHER = "0" * 31 + "1", "0" * 31 + "2"


def definition(*columns: Column, id: str = ID, table: str = "t", **more: Any) -> TableDefinition:
    return TableDefinition(id, "ks", table, (Column("pk", "partition_key", "int", 0), *columns), **more)


PLAIN = definition(
    Column("ck", "clustering", "text", 0), Column("v", "regular", "int"), Column("w", "regular", "list<int>")
)
STATIC = definition(Column("ck", "clustering", "text", 0), Column("s", "static", "text"), Column("v", "regular", "int"))


@dataclass
class Kept:
    """A state's images into a table. `each`: one commit an image; else all of a call together."""

    target: Target
    each: bool = True
    into: str = "kept"
    tables: dict[str, TableDefinition] = field(default_factory=lambda: {ID: PLAIN})
    number: int = 0
    seq: Any = field(default_factory=lambda: itertools.count(1_000))
    said: list[str] = field(default_factory=list)
    history: dict[str, list[tuple[int, TableDefinition]]] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)

    def give(self, *images: Image, key: OutletKey = KEY) -> None:
        form = ImagesForm(True, arrow_schema)
        context = OutletContext(
            key, self.tables.get, None, refuse, self.said.append, images=form,
            history=lambda table_id: self.history.get(table_id, ()),
        )  # fmt: skip
        values = {**GIVEN, "mode": "table", "into": self.into, "retry_for": 5.0, **self.more}
        out = open_outlet(self.target.to, values, context)
        try:
            before = out.open()
            for some in ([image] for image in images) if self.each else [list(images)]:
                out.write(ImageRows(some))
                self.number += 1
                behind = Place(f'{{"images":{self.number}}}')
                out.commit(before, behind)
                before = behind
            assert isinstance(out, ReportsEnd)
            out.report_end()
        finally:
            out.close()

    def altered(self, newest: TableDefinition, *changed: str) -> Image:
        """The image of another definition of a table, which is known from it on."""
        image = self.image("schema", None, changed=changed, id=newest.id, table=newest.table)
        self.history.setdefault(newest.id, [(0, self.tables[newest.id])]).append((image.seq, newest))
        self.tables[newest.id] = newest
        return image

    def image(self, op: str, after: Any, key: Any = None, *, changed: Sequence[str] = (), **more: Any) -> Image:
        """`key`: pk, and ck of a row that has one."""
        pk, *ck = key if isinstance(key, tuple) else (key,)
        told = {"keyspace": "ks", "table": "t", "id": ID, "complete": True, "static": False, **more}
        named = {"pk": pk, **({"ck": ck[0]} if ck else {})}
        return Image(
            told["keyspace"], told["table"], str(UUID(told["id"])),
            None if key is None else 7, None if key is None else json.dumps({"pk": pk}),
            json.dumps({"ck": ck[0]}) if ck else None, told["static"], None, op, None,  # type: ignore[arg-type]
            None if after is None else json.dumps({**named, **after}), tuple(changed), 5, next(self.seq), None,
            told["complete"],
        )  # fmt: skip

    def rows(self, *names: str) -> list[tuple[Any, ...]]:
        """Sorted as texts."""
        found = self.target.ask(f"SELECT {', '.join(names)} FROM {self.into}")
        return sorted(found, key=repr)


@pytest.fixture(params=[True, False], ids=["each", "together"])
def kept(request: pytest.FixtureRequest, target: Target) -> Kept:
    return Kept(target, each=request.param)


def test_whole_rows(kept: Kept) -> None:
    kept.give(
        kept.image("insert", {"v": 1, "w": [1, 2]}, (1, "a")),
        kept.image("insert", {"v": 2, "w": None}, (1, "b")),
        kept.image("insert", {"v": 3, "w": None}, (2, "a")),
        kept.image("update", {"v": None, "w": [3]}, (1, "a")),
        kept.image("delete", None, (1, "b")),
        kept.image("expire", None, (2, "a")),
        kept.image("insert", {"v": 4, "w": None}, (2, "a")),
    )
    assert [(pk, ck, v) for pk, ck, v in kept.rows("pk", "ck", "v")] == [(1, "a", None), (2, "a", 4)]
    assert [bool(told) for (told,) in kept.rows("cdc_tail_complete")] == [True, True]
    assert (1, "a") in [row[:2] for row in kept.rows("pk", "ck", "CAST(w AS TEXT)") if json.loads(row[2] or "0") == [3]]


def test_what_is_not_known_stays_as_it_is(kept: Kept) -> None:
    kept.give(
        kept.image("upsert", {"v": 1}, (1, "a"), changed=["v"], complete=False),
        kept.image("update", {"v": 1, "w": [1]}, (1, "a"), changed=["w"], complete=False),
        # A column of a row of which nothing else is known, and which may not be there.
        kept.image("update", {"v": None}, (9, "x"), changed=["v"], complete=False),
        # What a deletion may have taken is not there any more, as far as anybody knows.
        kept.image("upsert", {"v": 5}, (2, "a"), changed=["v"], complete=False),
        kept.image("upsert", {"w": [2]}, (2, "a"), changed=["v", "w"], complete=False),
        # A row that was known whole, and after a loss is not.
        kept.image("insert", {"v": 6, "w": [6]}, (3, "a")),
        kept.image("update", {"v": 7}, (3, "a"), changed=["v"], complete=False),
    )
    assert [(pk, v, bool(told)) for pk, v, told in kept.rows("pk", "v", "cdc_tail_complete")] == [
        (1, 1, False),
        (2, None, False),
        (3, 7, False),
    ]
    lists = [json.loads(w) for (w,) in kept.rows("CAST(w AS TEXT)")]
    assert sorted(lists) == [[1], [2], [6]]


def test_a_row_that_comes_back_after_a_deletion_is_not_what_it_was(kept: Kept) -> None:
    kept.give(
        kept.image("insert", {"v": 1, "w": [1]}, (1, "a")),
        kept.image("delete", None, (1, "a"), complete=False),
        kept.image("upsert", {"v": 2}, (1, "a"), changed=["v"], complete=False),
        kept.image("delete", None, (1, "b")),
        kept.image("update", {"v": 2}, (1, "b"), changed=["v"], complete=False),
    )
    assert kept.rows("pk", "ck", "v", "CAST(w AS TEXT)") == [(1, "a", 2, None)]


def test_static_columns_stand_in_each_row_and_alone(kept: Kept) -> None:
    kept.tables = {ID: STATIC}
    shown: Callable[[], Any] = lambda: kept.rows("pk", "ck", "s", "v")  # noqa: E731
    kept.give(
        kept.image("insert", {"v": 1}, (1, "a")),
        kept.image("insert", {"s": "x"}, 1, static=True),
        kept.image("insert", {"v": 2}, (1, "b")),
        kept.image("insert", {"s": "alone"}, 2, static=True),
        kept.image("insert", {"s": "gone"}, 3, static=True),
        kept.image("delete", None, 3, static=True),
    )
    assert shown() == [(1, "a", "x", 1), (1, "b", "x", 2), (2, None, "alone", None)]
    kept.give(
        kept.image("insert", {"v": 3}, (2, "a")),
        kept.image("update", {"s": "y"}, 1, static=True),
        kept.image("delete", None, (1, "a")),
        kept.image("delete", None, (1, "b")),
    )
    assert shown() == [(1, None, "y", None), (2, "a", "alone", 3)]
    kept.give(kept.image("delete", None, 1, static=True), kept.image("delete", None, 2, static=True))
    assert shown() == [(2, "a", None, 3)]


def test_columns_that_come_and_go(kept: Kept) -> None:
    kept.give(kept.image("insert", {"v": 1, "w": [1]}, (1, "a")))
    wider = definition(
        *PLAIN.columns[1:3],
        Column("w", "regular", "list<int>", dropped=True, dropped_time=9),
        Column("n", "regular", "text"),
    )
    kept.tables = {ID: wider}
    kept.give(
        kept.image("schema", None, changed=["w", "n"]),
        kept.image("insert", {"v": 2, "n": "new"}, (1, "b")),
    )
    assert kept.rows("ck", "v", "CAST(w AS TEXT)", "n") == [("a", 1, None, None), ("b", 2, None, "new")]
    assert kept.said == [line for line in kept.said if line.endswith("column n is new")] != []


def test_a_column_that_was_dropped_and_is_there_again_is_empty(kept: Kept) -> None:
    """But for the values that the drop did not cover: an image of each row says what it has."""
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")), kept.image("insert", {"v": 7, "w": None}, (1, "b")))
    kept.target.run("INSERT INTO kept (pk, ck, v, cdc_tail_complete) VALUES (9, 'old', 0, TRUE)")
    again = definition(PLAIN.columns[1], Column("v", "regular", "int", dropped_time=9), PLAIN.columns[3])
    kept.give(kept.altered(again, "v"), kept.image("update", {"v": None, "w": None}, (1, "a"), changed=["v"]))
    assert kept.rows("ck", "v") == [("a", None), ("b", 7), ("old", 0)]
    assert [bool(told) for (told,) in kept.rows("cdc_tail_complete")] == [False, True, True]
    kept.give(kept.image("update", {"v": 3, "w": None}, (1, "a")))
    assert kept.rows("ck", "v") == [("a", 3), ("b", 7), ("old", 0)]


def test_a_type_that_changes_leaves_what_images_do_not_report(kept: Kept) -> None:
    def typed(*fields: str) -> TableDefinition:
        place = tuple(TypeField(name, "int") for name in fields)
        return definition(PLAIN.columns[1], Column("u", "regular", "frozen<place>"), types={"place": place})

    kept.tables = {ID: typed("zip")}
    kept.give(kept.image("insert", {"u": {"zip": 1}}, (1, "a")))
    kept.target.run("""INSERT INTO kept (pk, ck, u, cdc_tail_complete) VALUES (9, 'old', '{"zip":3}', TRUE)""")
    kept.give(
        kept.altered(typed("zip", "no"), "u"),
        kept.image("update", {"u": {"zip": 1, "no": None}}, (1, "a"), changed=["u"]),
    )
    found = [(ck, json.loads(u), bool(told)) for ck, u, told in kept.rows(
        "ck", "CAST(u AS TEXT)", "cdc_tail_complete"
    )]  # fmt: skip
    assert found == [("a", {"zip": 1, "no": None}, True), ("old", {"zip": 3}, False)]


def test_a_table_that_is_dropped_and_made_again(kept: Kept) -> None:
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")), kept.image("drop", None))
    assert kept.rows("pk") == []
    kept.tables[OTHER] = definition(*PLAIN.columns[1:], id=OTHER)
    kept.give(
        kept.image("insert", {"v": 2, "w": None}, (1, "a"), id=OTHER),
    )
    assert kept.rows("ck", "v") == [("a", 2)]
    assert kept.target.ask("SELECT ck, v FROM kept_before") == [("a", 1)]


def test_a_table_that_is_made_again_though_nobody_saw_it_go(kept: Kept) -> None:
    kept.tables[OTHER] = definition(*PLAIN.columns[1:], id=OTHER)
    kept.give(
        kept.image("insert", {"v": 1, "w": None}, (1, "a")),
        kept.image("insert", {"v": 2, "w": None}, (1, "b"), id=OTHER),
        # A log that is behind the others.
        kept.image("insert", {"v": 3, "w": None}, (1, "z")),
        kept.image("drop", None),
    )
    assert kept.rows("ck", "v") == [("b", 2)]
    assert sorted(kept.target.ask("SELECT ck, v FROM kept_before")) == [("a", 1), ("z", 3)]


def test_rows_that_the_table_had_before(kept: Kept) -> None:
    """Somebody filled it: what images do not tell row by row is done to these, or nobody can tell."""
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")))
    for pk in (1, 2, 3):
        kept.target.run(f"INSERT INTO kept (pk, ck, v, cdc_tail_complete) VALUES ({pk}, 'old', 0, TRUE)")
    kept.give(
        kept.image("delete_partition", None, 2),
        kept.image("delete_range", None, 3),
        kept.image("update", {"v": 5, "w": None}, (1, "old")),
    )
    found = [(pk, ck, v, bool(told)) for pk, ck, v, told in kept.rows("pk", "ck", "v", "cdc_tail_complete")]
    assert found == [(1, "a", 1, True), (1, "old", 5, True), (3, "old", 0, False)]
    kept.give(kept.image("truncate", None))
    assert kept.rows("pk", "ck") == [(1, "a"), (1, "old")]


def test_static_values_that_the_table_had_before(target: Target) -> None:
    """Somebody filled it: images of rows leave them as they are, and show them in new ones."""
    kept = Kept(target, tables={ID: STATIC})
    target.run("CREATE TABLE kept (pk INTEGER, ck TEXT, s TEXT, v INTEGER, UNIQUE (pk, ck))")
    for pk, ck, s in ((1, "'a'", "'x'"), (1, "'b'", "'x'"), (2, "NULL", "'y'"), (3, "'a'", "'z'"), (4, "'a'", "NULL")):
        target.run(f"INSERT INTO kept (pk, ck, s, v) VALUES ({pk}, {ck}, {s}, 0)")
    kept.give(
        kept.image("update", {"v": 5}, (1, "a"), complete=False, changed=["v"]),
        kept.image("insert", {"v": 6}, (2, "c")),
        kept.image("insert", {"v": 7}, (4, "c")),
        kept.image("delete", None, (4, "a")),
        kept.image("delete", None, (4, "c")),
    )
    assert kept.rows("pk", "ck", "s", "v") == [(1, "a", "x", 5), (1, "b", "x", 0), (2, "c", "y", 6), (3, "a", "z", 0)]
    kept.give(
        kept.image("delete_partition", None, 3),
        kept.image("update", {"s": "new"}, 2, static=True, complete=False, changed=["s"]),
        kept.image("delete", None, (2, "c")),
    )
    assert kept.rows("pk", "ck", "s", "v") == [(1, "a", "x", 5), (1, "b", "x", 0), (2, None, "new", None)]
    kept.give(kept.image("truncate", None))
    assert kept.rows("pk", "ck", "s", "v") == [(1, "a", None, 5), (2, None, "new", None)]


def test_an_older_image_changes_nothing(target: Target) -> None:
    kept = Kept(target)
    old = [kept.image("insert", {"v": 1, "w": None}, (1, "a")), kept.image("delete", None, (1, "b"))]
    kept.give(kept.image("insert", {"v": 2, "w": None}, (1, "a")), kept.image("insert", {"v": 2, "w": None}, (1, "b")))
    kept.give(*old)
    assert kept.rows("ck", "v") == [("a", 2), ("b", 2)]


def test_several_tables_by_a_name_for_each(target: Target) -> None:
    kept = Kept(target, into="{keyspace}_{table}")
    kept.tables[OTHER] = definition(*PLAIN.columns[1:], id=OTHER, table="u")
    kept.give(
        kept.image("insert", {"v": 1, "w": None}, (1, "a")),
        kept.image("insert", {"v": 2, "w": None}, (1, "a"), id=OTHER, table="u"),
    )
    assert (target.ask("SELECT v FROM ks_t"), target.ask("SELECT v FROM ks_u")) == ([(1,)], [(2,)])


def test_two_tables_of_the_source_are_not_one(target: Target) -> None:
    kept = Kept(target)
    kept.tables[OTHER] = definition(*PLAIN.columns[1:], id=OTHER, table="u")
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")))
    with pytest.raises(SinkError, match=r"images of ks\.u for the table kept"):
        kept.give(kept.image("insert", {"v": 2, "w": None}, (1, "a"), id=OTHER, table="u"))
    assert kept.rows("v") == [(1,)]


@pytest.mark.parametrize(
    ("into", "first", "second"),
    [
        ("{keyspace}_{table}", ("ks", "T"), ("KS", "t")),
        ("{keyspace}_{table}", ("ks", "a_b"), ("ks_a", "b")),
        ("all_{table}", ("ks", "t"), ("other", "t")),
        ("{keyspace}_{table}", ("ks", "t"), ("ks", "t_static")),
        ("{keyspace}_{table}", ("ks", "t_static"), ("ks", "t")),
        ("{keyspace}_{table}", ("ks", "t"), ("cdc_tail", "waiting")),
    ],
)
def test_source_tables_of_one_name_have_a_table_each(
    target: Target, into: str, first: tuple[str, str], second: tuple[str, str]
) -> None:
    kept = Kept(target, into=into)
    for at, (table_id, (keyspace, table)) in enumerate(zip((ID, OTHER), (first, second), strict=True)):
        kept.tables[table_id] = TableDefinition(table_id, keyspace, table, STATIC.columns)
        for n in (1, 2):
            # In runs of their own: the second one finds what the first one recorded.
            of: dict[str, Any] = {"id": table_id, "keyspace": keyspace, "table": table}
            kept.give(
                kept.image("insert", {"s": f"s{at}"}, n, static=True, **of),
                kept.image("insert", {"v": 10 * at + n}, (n, "a"), **of),
            )
    found = {source: name for name, source in target.ask("SELECT target, source FROM cdc_tail_tables")}
    rows = [
        sorted(target.ask(f'SELECT pk, s, v FROM "{found[f"{keyspace}.{table}"]}"'))
        for keyspace, table in (first, second)
    ]
    assert rows == [[(1, "s0", 1), (2, "s0", 2)], [(1, "s1", 11), (2, "s1", 12)]]


def test_who_may_keep_a_table(target: Target) -> None:
    kept = Kept(target)
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")))
    with pytest.raises(RefusedError, match=r"table kept of .* is kept by another consumer"):
        kept.give(kept.image("insert", {"v": 2, "w": None}, (1, "a")), key=OutletKey("other", "images", "e"))
    with pytest.raises(RefusedError, match="feeds another table"):
        Kept(target, into="another").give()
    with pytest.raises(SinkError, match="kept by another run"):
        _by_template(target)


def test_another_consumer_goes_on_as_the_error_says(target: Target) -> None:
    """The table is dropped, and the row of the consumer that kept it is deleted."""
    kept, key = Kept(target), OutletKey("other", "images", "e")
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")))
    kept.number = 0
    with pytest.raises(RefusedError, match="drop the table and delete its row of cdc_tail_positions"):
        kept.give(kept.image("insert", {"v": 2, "w": None}, (1, "b")), key=key)
    target.run("DROP TABLE kept", "DELETE FROM cdc_tail_positions WHERE consumer = 'c'")
    kept.give(kept.image("insert", {"v": 2, "w": None}, (1, "b")), key=key)
    assert kept.rows("ck", "v") == [("b", 2)]


def test_consumers_of_one_pattern_keep_other_tables(target: Target) -> None:
    kept = Kept(target, into="{keyspace}_{table}")
    kept.tables[OTHER] = definition(*PLAIN.columns[1:], id=OTHER, table="u")
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")))
    key = OutletKey("other", "images", "d")
    kept.number = 0
    kept.give(kept.image("insert", {"v": 2, "w": None}, (1, "a"), id=OTHER, table="u"), key=key)
    assert (target.ask("SELECT v FROM ks_t"), target.ask("SELECT v FROM ks_u")) == ([(1,)], [(2,)])


def _by_template(target: Target) -> None:
    """Another run, whose template means the same table of the same name in the source."""
    other = Kept(target, into="k{table}", tables={ID: definition(*PLAIN.columns[1:], table="ept")})
    target.run("UPDATE cdc_tail_tables SET known = replace(known, 'ks.t', 'ks.ept'), source = 'ks.ept'")
    other.give(other.image("insert", {"v": 1, "w": None}, (1, "a"), table="ept"), key=OutletKey("other", "images", "d"))


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("CREATE TABLE ks_t (pk INTEGER, ck TEXT, v INTEGER)", "CREATE UNIQUE INDEX"),
        ("CREATE TABLE ks_t (pk INTEGER, v INTEGER)", "it has no column ck"),
        ("CREATE TABLE ks_t (pk INTEGER, ck TEXT, v DATE, PRIMARY KEY (pk, ck))", "column v is"),
    ],
)
def test_a_table_that_needs_a_person_is_stopped_alone(target: Target, statement: str, told: str) -> None:
    """The others go on; what the error says is run, and the images that waited are written, in order."""
    target.run(statement)
    kept = Kept(target, into="{keyspace}_{table}")
    kept.tables[OTHER] = definition(*PLAIN.columns[1:], id=OTHER, table="u")
    with pytest.raises(SinkError, match=r"the images of ks\.t wait in cdc_tail_waiting") as raised:
        kept.give(
            kept.image("insert", {"v": 1, "w": None}, (1, "a")),
            kept.image("insert", {"v": 2, "w": None}, (1, "a"), id=OTHER, table="u"),
            kept.image("update", {"v": 3, "w": None}, (1, "a")),
        )
    assert told in str(raised.value)
    assert target.ask("SELECT v FROM ks_u") == [(2,)]
    assert target.ask("SELECT count(*), min(source) FROM cdc_tail_waiting") == [(2, "ks.t")]
    with pytest.raises(SinkError, match=told):
        kept.give(kept.image("insert", {"v": 4, "w": None}, (1, "b")))
    advice = str(raised.value).partition("Run: ")[2].partition("; or choose another")[0]
    target.run(*advice.split("; "))
    kept.give(kept.image("delete", None, (1, "b")))
    assert target.ask("SELECT ck, v FROM ks_t") == [("a", 3)]
    assert target.ask("SELECT count(*) FROM cdc_tail_waiting") == [(0,)]


MADE = "CREATE TABLE ks_t (pk INTEGER, ck TEXT, v INTEGER, w {json})"
NO_KEY = [
    ({"sqlite", "postgresql"}, "CREATE UNIQUE INDEX other ON ks_t (pk, ck) WHERE v > 0"),
    ({"sqlite", "duckdb", "postgresql"}, "CREATE UNIQUE INDEX other ON ks_t (pk, (lower(ck)))"),
    ({"sqlite"}, "CREATE UNIQUE INDEX other ON ks_t (pk, ck COLLATE NOCASE)"),
    ({"sqlite", "duckdb", "postgresql"}, "CREATE UNIQUE INDEX other ON ks_t (pk, ck, v)"),
    ({"sqlite", "duckdb", "postgresql"}, "CREATE INDEX other ON ks_t (pk, ck)"),
]


@pytest.mark.parametrize(("databases", "statement"), NO_KEY)
def test_what_is_no_key_of_the_rows(target: Target, databases: set[str], statement: str) -> None:
    """A partial index, one of an expression, of another collation (a and A are two keys), of more columns, not
    unique: no row is kept from being there twice, and the sentence says what to run."""
    if target.kind not in databases:
        pytest.skip("this database has no such index")
    target.run(MADE.format(json={"postgresql": "jsonb", "duckdb": "JSON", "sqlite": "TEXT"}[target.kind]), statement)
    kept = Kept(target, into="{keyspace}_{table}")
    with pytest.raises(SinkError, match=r"it has no unique key of pk, ck") as raised:
        kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")), kept.image("insert", {"v": 2}, (1, "A")))
    target.run(str(raised.value).partition("Run: ")[2].partition("; or choose another")[0])
    if "NOCASE" in statement or "lower" in statement:
        # That one still holds the two keys for one.
        target.run("DROP INDEX other")
    kept.give()
    assert sorted(target.ask("SELECT pk, ck, v FROM ks_t")) == [(1, "A", 2), (1, "a", 1)]


@pytest.mark.parametrize(
    "index", ["CREATE UNIQUE INDEX other ON ks_t (ck, pk)", "CREATE UNIQUE INDEX o ON ks_t (pk, ck)"]
)
def test_a_key_that_a_person_made_in_any_order(target: Target, index: str) -> None:
    """It is a key; a key column that is renamed is renamed in it, and the table of a life that ended has it still."""
    target.run(MADE.format(json={"postgresql": "jsonb", "duckdb": "JSON", "sqlite": "TEXT"}[target.kind]), index)
    kept = Kept(target, into="{keyspace}_{table}")
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")), kept.image("insert", {"v": 2, "w": None}, (1, "a")))
    assert target.ask("SELECT pk, ck, v FROM ks_t") == [(1, "a", 2)]
    renamed = definition(Column("name", "clustering", "text", 0), *PLAIN.columns[2:])
    kept.give(kept.altered(renamed, "name"), kept.image("update", {"v": 3, "w": None}, (1, "a")))
    assert target.ask("SELECT pk, name, v FROM ks_t") == [(1, "a", 3)]
    kept.tables[OTHER] = definition(*PLAIN.columns[1:], id=OTHER)
    kept.give(kept.image("drop", None), kept.image("insert", {"v": 9, "w": None}, (7, "b"), id=OTHER))
    assert target.ask("SELECT pk, name, v FROM ks_t_before") == [(1, "a", 3)]
    assert target.ask("SELECT pk, ck, v FROM ks_t") == [(7, "b", 9)]


def test_an_index_of_an_expression_that_duckdb_cannot_rename_under(tmp_path: Path) -> None:
    """The table is stopped alone, and what the sentence says leads on."""
    target = Duckdb(tmp_path)
    kept = Kept(target, into="{keyspace}_{table}")
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")))
    target.run("CREATE INDEX lowered ON ks_t ((lower(ck)))")
    renamed = definition(Column("name", "clustering", "text", 0), *PLAIN.columns[2:])
    with pytest.raises(
        SinkError, match=r"wait in cdc_tail_waiting.*index lowered, which is of an expression"
    ) as raised:
        kept.give(kept.altered(renamed, "name"), kept.image("update", {"v": 3, "w": None}, (1, "a")))
    target.run(str(raised.value).partition("Run: ")[2].partition("; make it again")[0])
    kept.give()
    assert target.ask("SELECT pk, name, v FROM ks_t") == [(1, "a", 3)]


def test_status_shows_what_waits(target: Target, tmp_path: Path) -> None:
    """Also when the run has ended; until the images are written."""
    folder = log(tmp_path)
    run = [*words(folder, target, into="kept"), "--mode", "table", "--image", "after"]
    status = ["status", str(folder)]
    target.run("CREATE TABLE kept (pk INTEGER, ck TEXT, v INTEGER)")
    before = time.time()
    ended = run_cli(run)
    assert (ended.code, "CREATE UNIQUE INDEX" in ended.err) == (7, True), ended.err

    def waiting() -> list[Any]:
        shown = json.loads(run_cli([*status, "--output", "json"]).lines[0])
        return [table for consumer in shown["consumers"] for table in consumer["waiting"]]

    (table,) = waiting()
    assert (table["table"], table["images"], "CREATE UNIQUE INDEX" in table["reason"]) == ("ks.t", 20, True)
    assert before - 1 <= table["since"] <= time.time()
    shown = run_cli([*status, "--output", "pretty"])
    assert "20 images of ks.t have waited in its target for" in " ".join(shown.out.split()), shown
    target.run('CREATE UNIQUE INDEX by_key ON kept ("pk", "ck")')
    assert run_cli(run).code == 0
    assert waiting() == []
    assert target.ask("SELECT count(*) FROM kept") == [(20,)]


def test_a_later_form_of_what_waits_is_refused(target: Target) -> None:
    target.run("CREATE TABLE kept (pk INTEGER, v INTEGER)")
    kept = Kept(target)
    with pytest.raises(SinkError, match="wait in cdc_tail_waiting"):
        kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")))
    target.run("UPDATE cdc_tail_waiting SET version = 99")
    with pytest.raises(RefusedError, match="cdc_tail_waiting"):
        kept.give()


def test_a_key_is_renamed_in_a_table_of_an_earlier_program(target: Target) -> None:
    """39bf74e recorded source, id and pattern alone: no definition."""
    kept = Kept(target)
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")))
    earlier = json.dumps({"source": "ks.t", "id": str(UUID(ID)), "into": "kept", "gone": [], "dropped": {}})
    target.run(f"UPDATE cdc_tail_tables SET known = '{earlier}' WHERE target = 'kept'")
    names = {"ck": "ck2"}
    renamed = [msgspec.structs.replace(each, name=names.get(each.name, each.name)) for each in PLAIN.columns]
    kept.give(kept.altered(msgspec.structs.replace(PLAIN, columns=tuple(renamed)), "ck2", "ck"))
    assert kept.rows("pk", "ck2", "v") == [(1, "a", 1)]


def test_a_later_form_of_what_is_recorded_is_refused(target: Target) -> None:
    kept = Kept(target)
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")))
    ((known,),) = target.ask("SELECT known FROM cdc_tail_tables WHERE target = 'kept'")
    later = json.dumps({**json.loads(known), "version": 99, "keepers": "in another form"})
    target.run(f"UPDATE cdc_tail_tables SET known = '{later}'")
    with pytest.raises(RefusedError, match="cdc_tail_tables"):
        kept.give()
    assert target.ask("SELECT known FROM cdc_tail_tables") == [(later,)]


def test_a_table_that_is_given_up(target: Target) -> None:
    target.run("CREATE TABLE ks_t (pk INTEGER, v INTEGER)")
    kept = Kept(target, into="{keyspace}_{table}")
    with pytest.raises(SinkError, match="To give them up, leave the table out"):
        kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")))
    target.run("DELETE FROM cdc_tail_waiting WHERE source = 'ks.t'")
    kept.tables[OTHER] = definition(*PLAIN.columns[1:], id=OTHER, table="u")
    kept.give(kept.image("insert", {"v": 2, "w": None}, (1, "a"), id=OTHER, table="u"))
    assert target.ask("SELECT v FROM ks_u") == [(2,)]


def test_no_more_images_wait_than_there_is_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = Sqlite(tmp_path)
    monkeypatch.setattr("tailer.sinks.database.waiting.MOST_IMAGES", 2)
    target.run("CREATE TABLE kept (pk INTEGER, v INTEGER)")
    kept = Kept(target)
    with pytest.raises(SinkError, match=r"has as many images of ks\.t as may wait"):
        kept.give(*(kept.image("insert", {"v": 1, "w": None}, (n, "a")) for n in range(3)))


def test_a_table_that_somebody_dropped_is_stopped_until_it_is_restored(target: Target) -> None:
    kept = Kept(target)
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")))
    target.run("ALTER TABLE kept RENAME TO elsewhere")
    with pytest.raises(SinkError, match=r"table kept of .* is gone"):
        kept.give(kept.image("insert", {"v": 2, "w": None}, (1, "b")))
    target.run("ALTER TABLE elsewhere RENAME TO kept")
    kept.give()
    assert kept.rows("ck", "v") == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("keep", [True, False])
def test_a_table_made_again_with_another_key(target: Target, keep: bool) -> None:
    """In one commit or in several; the earlier life is renamed, or emptied."""
    kept = Kept(target, each=keep, more={"on_recreate": "keep" if keep else "clear"})
    other = (Column("a", "partition_key", "text", 0), Column("v", "regular", "int"))
    kept.tables[OTHER] = TableDefinition(OTHER, "ks", "t", other)
    again = msgspec.structs.replace(
        kept.image("insert", {"v": 2}, 1, id=OTHER), partition_key='{"a":"x"}', after='{"a":"x","v":2}'
    )
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")), kept.image("drop", None), again)
    assert target.ask("SELECT a, v FROM kept") == [("x", 2)]
    assert target.there("kept_before") == keep


def test_a_process_that_lags_writes_into_the_earlier_life(target: Target) -> None:
    """Of the same id, and of another one."""
    kept = Kept(target, each=False)
    first, late = (OutletKey(name, image_node(tokens), "c") for name, tokens in (("a", (1, 5)), ("b", (6, 9))))
    kept.give(kept.image("insert", {"v": 1, "w": None}, (1, "a")), key=first)
    kept.number = 0
    kept.give(kept.image("insert", {"v": 2, "w": None}, (2, "a")), key=late)
    kept.number = 1
    kept.give(kept.image("drop", None), kept.image("insert", {"v": 3, "w": None}, (1, "a")), key=first)
    kept.number = 1
    kept.give(
        kept.image("insert", {"v": 4, "w": None}, (2, "b")),
        kept.image("drop", None),
        kept.image("insert", {"v": 5, "w": None}, (2, "a")),
        key=late,
    )
    assert kept.rows("pk", "ck", "v") == [(1, "a", 3), (2, "a", 5)]
    assert sorted(target.ask("SELECT pk, ck, v FROM kept_before")) == [(1, "a", 1), (2, "a", 2), (2, "b", 4)]


def test_names_longer_than_the_database_takes(target: Target) -> None:
    """Beginning and hash; two tables whose names begin alike stay two."""
    kept = Kept(target, into="{keyspace}_{table}")
    names = ["n" * 48 + "_of_a_table_" + end * 150 for end in "ab"]
    for table_id, name in zip((ID, OTHER), names, strict=True):
        kept.tables[table_id] = definition(*STATIC.columns[1:], id=table_id, table=name)
    kept.give(*(
        kept.image("insert", {"v": n}, (n, "a"), id=table_id, table=name)
        for n, (table_id, name) in enumerate(zip((ID, OTHER), names, strict=True))
    ))  # fmt: skip
    found = {source: name for name, source in target.ask("SELECT target, source FROM cdc_tail_tables")}
    limit = 63 if target.kind == "postgresql" else 200
    assert [len(found[f"ks.{name}"]) for name in names] == [limit, limit]
    assert [target.ask(f"SELECT v FROM {found[f'ks.{name}']}") for name in names] == [[(0,)], [(1,)]]


def test_a_null_in_a_key_is_refused(target: Target) -> None:
    kept = Kept(target)
    with pytest.raises(SinkError, match="no value for ck in its key"):
        kept.give(kept.image("insert", {"v": 1, "w": None}, (1, None)))


@pytest.mark.parametrize("into", ["a b", "{other}", "{table}.t", "x;y", "cdc_tail_tables"])
def test_names_that_are_none(tmp_path: Path, into: str) -> None:
    with pytest.raises(UsageError):
        Kept(Sqlite(tmp_path), into=into).give()


def test_as_a_user_does_it(target: Target, tmp_path: Path) -> None:
    folder = log(tmp_path)
    run = [*words(folder, target, into="kept"), "--mode", "table"]
    refused = run_cli(run)
    assert (refused.code, "--image after" in refused.err) == (2, True), refused.err
    for _ in range(2):
        ran = run_cli([*run, "--image", "after"])
        assert (ran.code, ran.err) == (0, "")
        assert sorted(target.ask("SELECT pk, ck, v FROM kept")) == [(n, "a", n) for n in range(1, 21)]


def test_years_that_have_a_sign_in_json(target: Target) -> None:
    """Of a column that was a bigint before, or of a mistaken unit: beyond 9999, and before 1."""
    kept = Kept(target)
    kept.tables = {ID: definition(Column("d", "regular", "date"), Column("t", "regular", "timestamp"))}
    far = {"d": "+13251-03-11", "t": "+13251-03-11 08:53:20.000Z"}
    early = {"d": "-0001-01-02", "t": "0000-01-02 03:04:05.000Z"}
    kept.give(kept.image("insert", far, 1), kept.image("insert", early, 2))
    # SQLite has no type for them: the text that JSON has.
    time = "t" if target.kind == "sqlite" else "t AT TIME ZONE 'UTC'"
    shown = target.ask(f"SELECT CAST(d AS {target.quiet}), CAST({time} AS {target.quiet}) FROM kept ORDER BY pk")
    assert (
        shown
        == {
            "sqlite": [tuple(far.values()), tuple(early.values())],
            "postgresql": [("13251-03-11", "13251-03-11 08:53:20"), ("0002-01-02 BC", "0001-01-02 03:04:05 BC")],
            "duckdb": [("13251-03-11", "13251-03-11 08:53:20"), ("0002-01-02 (BC)", "0001-01-02 (BC) 03:04:05")],
        }[target.kind]
    )
