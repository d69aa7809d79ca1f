"""Generated migrations: a kept table is what SELECT shows after each of them, without a person."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any, get_args

import msgspec
import pytest

from tailer.images import Image, Merger, Settings
from tailer.images.image import arrow_schema
from tailer.images.image_rows import ImageRows
from tailer.images.memory import MemoryStore
from tailer.images.tables import definitions_in
from tailer.rebuild import Table
from tailer.schema.migration import Rule, migration_steps
from tailer.schema.model import Column, TableDefinition, TypeField
from tailer.sinks.image_node import image_node
from tailer.sinks.outlet import ImagesForm, OutletContext, OutletKey, Place, ReportsEnd
from tailer.sinks.outlets import open_outlet
from tests.helpers.data_files import GIVEN, refuse
from tests.helpers.migrations import Col, Source
from tests.unit.sinks.database.targets import Target
from tests.unit.sinks.database.test_kept_table import Kept
from tests.unit.sinks.database.test_kept_table import definition as table_of

SEEDS = range(int(os.environ.get("CDC_TAIL_MIGRATION_SEEDS", "6")))
STEPS = 60


class Consumer:
    """A state of images of a source, and the table that they keep."""

    def __init__(self, source: Source, target: Target) -> None:
        self.source, self.target = source, target
        self.store = MemoryStore()
        self.merger = Merger(self.store, ["a"], Settings(0))
        self.images: list[Image] = []
        self.number = 0
        self.id, self.lives = source.id, source.lives
        self.define(created=True)

    def define(self, *, created: bool = False) -> None:
        if self.source.lives != self.lives:
            self.images += self.merger.entry([self.source.schema_row(self.id, None)], self.source.now)
            again = self.source.id == self.id
            self.id, self.lives, created = self.source.id, self.source.lives, True
            if again:
                text = msgspec.json.encode(self.source.definition).decode()
                self.images += self.merger.entry([self.source.schema_row(self.id, text)], self.source.now)
                return
        table = Table.of(self.source.definition)
        self.images += self.merger.define(table, created=created, cdc=True, now_us=self.source.now)

    def write(self) -> None:
        change = self.source.write()
        self.images += self.merger.entry([change], self.source.now)

    def tables(self, table_id: str) -> TableDefinition | None:
        known = self.merger.table(table_id)
        return None if known is None else known.facts.table.definition

    def commit(self, sizes: random.Random) -> None:
        """Into the table, in a run of its own and in commits of any size."""
        context = OutletContext(
            OutletKey("5f4e", "images", "c"), self.tables, None, refuse, [].append,
            images=ImagesForm(True, arrow_schema), history=lambda table_id: definitions_in(self.store, table_id),
        )  # fmt: skip
        out = open_outlet(self.target.to, {**GIVEN, "mode": "table", "into": "{keyspace}_{table}"}, context)
        try:
            before = out.open()
            while self.images:
                count = sizes.choice((1, 3, 50))
                out.write(ImageRows(self.images[:count]))
                self.images = self.images[count:]
                self.number += 1
                behind = Place(f'{{"images":{self.number}}}')
                out.commit(before, behind)
                before = behind
            assert isinstance(out, ReportsEnd)
            out.report_end()
        finally:
            out.close()

    def rows(self) -> list[tuple[Any, ...]]:
        names = (*self.source.keys, *self.source.names)
        listed = ", ".join(f'"{name}"' for name in names)
        found = self.target.ask(f"SELECT {listed}, cdc_tail_complete FROM ks_t")
        assert all(complete for *_, complete in found), found
        return sorted(
            (tuple(self._value(name, v) for name, v in zip(names, row, strict=False)) for row in found), key=repr
        )

    def _value(self, name: str, value: Any) -> Any:
        if name in self.source.keys or value is None:
            return value
        type_ = self.source.columns[name].type
        if type_ == "frozen<place>":
            return value if isinstance(value, dict) else json.loads(value)
        if type_ == "blob":
            return f"0x{bytes(value).hex()}"
        return int(value) if isinstance(value, str | Decimal) else value


@pytest.mark.parametrize("seed", SEEDS)
def test_a_kept_table_is_what_select_shows(seed: int, target: Target) -> None:
    chance = random.Random(seed)
    source = Source(chance)
    consumer = Consumer(source, target)
    done: list[str] = []
    for _ in range(STEPS):
        for _ in range(chance.randrange(6)):
            consumer.write()
        done.append(source.migrate())
        consumer.define()
        for _ in range(chance.randrange(4)):
            consumer.write()
        if chance.random() < 0.4:
            # So far it was behind all of them.
            consumer.write()
            consumer.commit(chance)
            assert consumer.rows() == source.select(), done


def _drop(source: Source, name: str, until: int = 0) -> None:
    col = source.columns[name]
    col.dropped, col.dropped_time, col.added_time = True, until or source.now, None


def _again(source: Source, name: str, type_: str = "int") -> None:
    col = source.columns[name]
    col.dropped, col.added_time, col.type = False, source.now, type_


def _nothing(source: Source) -> None:
    """The table is as it was made."""


def _with_static(source: Source) -> None:
    source.columns["s"] = Col("int", static=True)


def _rename_key(source: Source) -> None:
    source.keys = ("pk", "name")


def _add(source: Source) -> None:
    source.columns["added"] = Col("int")


BY_RULE: dict[Rule, tuple[Callable[[Source], None], Callable[[Source], None], set[str]]] = {
    "new_life": (_nothing, Source.create, {"new_life"}),
    "rename_key": (_nothing, _rename_key, {"rename_key"}),
    "drop_column": (_nothing, lambda s: _drop(s, "v"), {"drop_column"}),
    "readd_column": (lambda s: _drop(s, "v", s.now - 5_000_000), lambda s: _again(s, "v"), {"readd_column"}),
    "retype_column": (lambda s: _drop(s, "v"), lambda s: _again(s, "v", "blob"), {"retype_column"}),
    "change_fields": (_nothing, lambda s: s.fields.append("b"), {"change_fields"}),
    "add_column": (_nothing, _add, {"add_column"}),
    "add_first_static": (_nothing, _with_static, {"add_column", "add_first_static"}),
    "drop_last_static": (_with_static, lambda s: _drop(s, "s"), {"drop_column", "drop_last_static"}),
}
"""What is before it, the migration, and the rules that it is by. `rewrite_keys` needs a type in the key: see below."""


def test_each_rule_is_run_alone() -> None:
    assert {*BY_RULE, "rewrite_keys"} == {*get_args(Rule)}


@pytest.mark.parametrize("rule", BY_RULE)
def test_a_rule_alone(rule: Rule, target: Target) -> None:
    """The kept table is what SELECT shows, right behind the migration and behind more writes."""
    before, migrate, rules = BY_RULE[rule]
    chance = random.Random(7)
    source = Source(chance)
    source.keys, source.pk_type = ("pk", "ck"), "int"
    source.columns = {"v": Col("int"), "u": Col("frozen<place>")}
    if before is _with_static:
        before(source)
    consumer = Consumer(source, target)
    for _ in range(15):
        consumer.write()
    if before is not _with_static:
        before(source)
        consumer.define()
    consumer.commit(chance)
    assert consumer.rows() == source.select()
    old, lives = source.definition, source.lives
    source.now += 1_000_000
    migrate(source)
    steps = migration_steps(old, source.definition, recreated=source.lives != lives)
    assert {step.rule for step in steps} == rules
    consumer.define()
    consumer.write()
    consumer.commit(chance)
    assert consumer.rows() == source.select()
    for _ in range(15):
        consumer.write()
    consumer.commit(chance)
    assert consumer.rows() == source.select()


def test_a_type_inside_the_clustering_key_is_changed(target: Target) -> None:
    """`rewrite_keys` alone: the key's text is another one, and no row is there under the earlier one."""
    kept = Kept(target)
    columns = (Column("ck", "clustering", "frozen<place>", 0), Column("v", "regular", "int"))
    old = table_of(*columns, types={"place": (TypeField("a", "int"),)})
    new = table_of(*columns, types={"place": (TypeField("a", "int"), TypeField("b", "int"))})
    assert {step.rule for step in migration_steps(old, new)} == {"rewrite_keys"}
    kept.tables = {old.id: old}
    kept.give(*(kept.image("insert", {"v": n}, (n, {"a": n})) for n in (1, 2)))
    change = kept.altered(new, "ck")
    kept.give(change, *(kept.image("update", {"v": n}, (n, {"a": n, "b": None})) for n in (1, 2)))
    found = sorted((pk, json.loads(ck), v) for pk, ck, v in kept.rows("pk", "ck", "v"))
    assert found == [(n, {"a": n, "b": None}, n) for n in (1, 2)]


@pytest.mark.parametrize("each", [True, False], ids=["each", "together"])
@pytest.mark.parametrize("type_", ["int", "blob"])
@pytest.mark.parametrize("known", [True, False], ids=["kept", "never there"])
def test_rows_that_no_image_reported_when_a_dropped_column_is_added_again(
    each: bool, type_: str, known: bool, target: Target
) -> None:
    """The DROP may not have covered their values (USING TIMESTAMP): null means that nobody knows, so they are not
    complete. Rows of images have theirs. `known`: the column was there when the first image came."""
    kept = Kept(target, each=each)
    ck = Column("ck", "clustering", "text", 0)
    live = table_of(ck, Column("v", "regular", "int"))
    gone = table_of(ck, Column("v", "regular", "int", dropped=True, dropped_time=5), Column("w", "regular", "int"))
    again = table_of(ck, Column("v", "regular", type_, dropped_time=5, added_time=9), Column("w", "regular", "int"))
    kept.tables = {live.id: live if known else gone}
    kept.give(kept.image("insert", {"v": 7} if known else {"w": 7}, (1, "b")))
    target.run("INSERT INTO kept (pk, ck, cdc_tail_complete) VALUES (9, 'without', TRUE)")
    if known:
        target.run("INSERT INTO kept (pk, ck, v, cdc_tail_complete) VALUES (9, 'old', 4, TRUE)")
        kept.give(kept.altered(gone, "v"), kept.image("update", {"w": None}, (1, "b"), changed=["v"]))
        assert [(ck, v) for ck, v in kept.rows("ck", "v")] == [("b", None), ("old", None), ("without", None)]
    value = {"int": 7, "blob": "0x07"}[type_]
    kept.give(kept.altered(again, "v"), kept.image("update", {"v": value, "w": None}, (1, "b"), changed=["v"]))
    found = {ck: (v if v is None or isinstance(v, int) else bytes(v), bool(told)) for ck, v, told in kept.rows(
        "ck", "v", "cdc_tail_complete"
    )}  # fmt: skip
    assert found.pop("b") == ({"int": 7, "blob": b"\x07"}[type_], True)
    assert found == dict.fromkeys(("old", "without") if known else ("without",), (None, False))


def test_static_rows_that_no_image_reported_when_a_dropped_column_is_added_again(target: Target) -> None:
    """Of a regular column they tell nothing; of a static one they are not complete, nor are the rows that show it."""
    kept = Kept(target)
    gone: dict[str, Any] = {"dropped": True, "dropped_time": 5}
    again: dict[str, Any] = {"dropped_time": 5, "added_time": 9}

    def form(s: dict[str, Any], v: dict[str, Any]) -> TableDefinition:
        """`t` and `w` stay."""
        ck, static = Column("ck", "clustering", "text", 0), Column("t", "static", "int")
        regular = Column("v", "regular", "int", **v), Column("w", "regular", "int")
        return table_of(ck, static, Column("s", "static", "int", **s), *regular)

    forms = [form({}, {}), form({}, gone), form({}, again), form(gone, again), form(again, again)]
    kept.tables = {forms[0].id: forms[0]}
    kept.give(kept.image("insert", {"v": 1, "w": 1}, (1, "b")))
    target.run(
        "INSERT INTO kept (pk, ck, s, cdc_tail_complete) VALUES (9, 'old', 4, TRUE)",
        "INSERT INTO kept_static (pk, s, cdc_tail_complete) VALUES (9, 4, TRUE)",
    )

    def complete() -> list[bool]:
        found = target.ask("SELECT cdc_tail_complete FROM kept WHERE pk = 9")
        found += target.ask("SELECT cdc_tail_complete FROM kept_static WHERE pk = 9")
        return [bool(told) for (told,) in found]

    for newest, column, expected in zip(
        forms[1:], ("v", "v", "s", "s"), ([True, True], [False, True], [False, True], [False, False]), strict=True
    ):
        kept.give(kept.altered(newest, column))
        assert complete() == expected


@pytest.mark.parametrize("reads", ["added", "renamed"])
@pytest.mark.parametrize("first_is_behind", [False, True])
def test_a_type_inside_the_clustering_key_is_changed_for_several_processes(
    reads: str, first_is_behind: bool, target: Target
) -> None:
    """One is behind when the other one has passed the ALTER: no row is there under its earlier key, and none that was
    deleted; each row that is there has an image of its own behind the ALTER."""
    s, ck = Column("s", "static", "int"), Column("ck", "clustering", "frozen<place>", 0)
    fields = (TypeField("a", "int"), TypeField("b", "int")) if reads == "added" else (TypeField("x", "int"),)
    old = table_of(ck, s, Column("v", "regular", "int"), types={"place": (TypeField("a", "int"),)})
    new = table_of(ck, s, Column("v", "regular", "int"), types={"place": fields})

    def key(pk: int) -> tuple[int, dict[str, int | None]]:
        return pk, ({"a": pk, "b": None} if reads == "added" else {"x": pk})

    processes = []
    for name, tokens in (("a", (1, 5)), ("b", (6, 9))):
        kept = Kept(target, each=False)
        kept.tables = {old.id: old}
        processes.append((kept, OutletKey(name, image_node(tokens), "c")))
    ahead, behind = reversed(processes) if first_is_behind else processes
    # pk 1 is of the process that is ahead, all others are of the one that is behind.
    for kept, me in (ahead, behind):
        mine = [1] if me == ahead[1] else [2, 4]
        kept.give(*(kept.image("insert", {"v": pk}, (pk, {"a": pk})) for pk in mine), key=me)
    target.run("""INSERT INTO kept (pk, ck, v, cdc_tail_complete) VALUES (5, '{"a": 5}', 0, TRUE)""")
    kept, me = ahead
    kept.give(kept.altered(new, "ck"), kept.image("update", {"v": 1}, key(1)), key=me)
    kept, me = behind
    kept.give(
        kept.image("insert", {"v": 3}, (3, {"a": 3})),
        kept.image("insert", {"s": 30}, 3, static=True),
        kept.image("update", {"v": 20}, (2, {"a": 2})),
        kept.image("delete", None, (4, {"a": 4})),
        kept.image("update", {"v": 50}, (5, {"a": 5})),
        kept.image("insert", {"v": 6}, (6, {"a": 6})),
        key=me,
    )
    # In another run, by what is recorded.
    kept.give(kept.image("delete", None, (6, {"a": 6})), kept.image("update", {"v": 21}, (2, {"a": 2})), key=me)
    kept.give(
        kept.altered(new, "ck"),
        kept.image("update", {"s": 30}, 3, static=True),
        *(kept.image("update", {"v": v}, key(pk)) for pk, v in ((2, 21), (3, 3), (5, 50))),
        key=me,
    )
    kept.give(kept.image("update", {"v": 31}, key(3)), key=me)
    rows = kept.rows("pk", "ck", "s", "v", "cdc_tail_complete")
    found = [(pk, json.loads(ck), s, v, bool(told)) for pk, ck, s, v, told in rows]
    expected = [(1, None, 1), (2, None, 21), (3, 30, 31), (5, None, 50)]
    assert found == [(pk, key(pk)[1], s, v, True) for pk, s, v in expected]


def test_a_process_that_is_behind_its_first_alter_leaves_columns_of_the_later_one(target: Target) -> None:
    """`v` is dropped and added with another type: the process that is behind has values of the earlier column."""
    kept, late = Kept(target, each=False), Kept(target, each=False)
    first, second = (OutletKey(name, image_node(tokens), "c") for name, tokens in (("a", (1, 5)), ("b", (6, 9))))
    w = Column("w", "regular", "int")
    old = table_of(Column("v", "regular", "int"), w)
    new = table_of(Column("v", "regular", "blob", dropped_time=5, added_time=9), w)
    kept.tables, late.tables = {old.id: old}, {old.id: old}
    kept.give(kept.image("insert", {"v": 1, "w": 1}, 1), key=first)
    late.give(late.image("insert", {"v": 2, "w": 2}, 2), key=second)
    kept.give(kept.altered(new, "v"), kept.image("update", {"v": None, "w": 1}, 1, changed=["v"]), key=first)
    late.give(late.image("insert", {"v": 3, "w": 3}, 3), key=second)
    assert kept.rows("pk", "v", "w") == [(1, None, 1), (2, None, 2), (3, None, 3)]
    late.give(late.altered(new, "v"), late.image("update", {"v": "0x07", "w": 3}, 3, changed=["v"]), key=second)
    assert [(pk, v and bytes(v), w) for pk, v, w in kept.rows("pk", "v", "w")] == [
        (1, None, 1),
        (2, None, 2),
        (3, b"\x07", 3),
    ]
