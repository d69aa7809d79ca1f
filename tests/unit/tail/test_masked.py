"""Masks through the doors of Python: `tailer.open`, `tailer.run`, and a service's own subscribers; native logs too."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import tailer
from tailer.errors import DefinitionError, UsageError
from tailer.options.tail import TailOptions
from tailer.rebuild import Table
from tailer.rebuild.changes import changed
from tailer.rebuild.table import plan_of
from tailer.retention.forget import Floor, wanted
from tailer.schema.masks import masks_of
from tailer.schema.model import Column, TableDefinition
from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.messages import Message
from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.state.journal_records import MasksRecord
from tailer.tail.follow import steps
from tailer.tail.run import ConsumerState
from tests.helpers.logs.native import NativeWriter
from tests.helpers.masked_log import CLEAR, MASKS, NAME, PEOPLE, hashed, key_file, people_log
from tests.helpers.tails import open_tail
from tests.native.logs import ORDERS, folder_of, put, rows_of
from writer_hooks import SegmentLog
from writer_hooks import Table as ServiceTable


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return key_file(tmp_path / "key")


def masks(key: Path) -> dict[str, Any]:
    return {
        "mask": [f"{NAME}.{column}={how}" for column, how in MASKS.items()],
        "exclude": [f"{NAME}.gone"],
        "mask_key": key,
    }


@pytest.mark.parametrize("table", [None, NAME])
def test_open(tmp_path: Path, key: Path, table: str | None) -> None:
    log = people_log(tmp_path / "cdc_raw")
    batches = list(tailer.open(log.path, table=table, **masks(key)).read())
    text = str([batch.to_pylist() for batch in batches])
    assert [each for each in CLEAR if each in text] == []
    assert hashed(b"clear-pk") in text
    with pytest.raises(UsageError, match="mask_key in Python"):
        tailer.open(log.path, mask=[f"{NAME}.ck=hash"])


class Keeper:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.types: dict[str, str] = {}
        self.rows: list[dict[str, Any]] = []

    def start(self, state: ConsumerState) -> None:
        """Nothing to open."""

    def on_definitions(self, changes: Sequence[TableDefinition]) -> None:
        self.types = {column.name: column.type for each in changes for column in each.columns}

    def on_changes(self, batch: Any) -> bool:
        self.rows += batch.to_pylist()
        return True

    def stop(self) -> None:
        """Nothing is open."""


def test_a_consumer_is_told_of_the_table_as_its_rows_are(tmp_path: Path, key: Path) -> None:
    keeper = Keeper()
    tailer.run(people_log(tmp_path / "cdc_raw").path, keeper, once=True, **masks(key))
    assert (keeper.types["number"], keeper.types["at"]) == ("text", "int")
    assert "gone" not in keeper.types
    assert [each for each in CLEAR if each in str(keeper.rows)] == []


def test_a_native_log(tmp_path: Path, key: Path) -> None:
    writer = NativeWriter(7)
    writer.section([ORDERS.definition, put(1, "clear-value"), put(2, "clear-value")])
    folder = folder_of(tmp_path, writer)
    rows = rows_of(folder, mask=["shop.orders.id=hash", "shop.orders.v=last4"], mask_key=key)
    assert [row["partition_key"]["id"] for row in rows] == [hashed(n.to_bytes(4, "big")) for n in (1, 2)]
    assert [row["columns"] for row in rows] == [{"v": "****alue"}] * 2
    assert [row["columns"] for row in rows_of(folder, mask=["shop.orders.v=null"])] == [{"v": None}] * 2
    assert rows_of(folder, exclude=["shop.orders"]) == []


class Person(msgspec.Struct):
    id: int
    name: str


def test_a_subscriber_in_the_writers_own_process(tmp_path: Path, key: Path) -> None:
    table = ServiceTable.of(Person, "shop.people", key=["id"])
    folder = tmp_path / "log"
    folder.mkdir()
    given = {"mask": ["shop.people.name=hash"], "mask_key": key, "masks_may_come": True}
    with SegmentLog.open(folder, [table]) as log:
        with log.subscribe(**given) as subscription:
            log.append(table.insert(Person(1, "clear-name"))).wait()
            batch = next(iter(subscription))
            assert [json.loads(text) for text in batch.column("columns").to_pylist()] == [
                {"name": hashed(b"clear-name")}
            ]
        with pytest.raises(UsageError, match="no column 'nmae'"), log.subscribe(mask=["shop.people.nmae=null"]) as late:
            next(iter(late))


def test_a_misspelt_column_is_told_before_the_first_row_of_a_table_that_came(tmp_path: Path) -> None:
    table = ServiceTable.of(Person, "shop.people", key=["id"])
    folder = tmp_path / "log"
    folder.mkdir()
    with SegmentLog.open(folder, [table]) as log:
        with pytest.raises(UsageError, match=r"no definition for table shop\.people"):
            log.subscribe(mask=["shop.people.name=null"])
        with log.subscribe(mask=["shop.people.id=null"], masks_may_come=True) as subscription:
            log.append(table.insert(Person(1, "clear-name"))).wait()
            with pytest.raises(UsageError, match="primary key"):
                next(iter(subscription))


@pytest.mark.parametrize("style", ["debezium", "debezium-cassandra"])
@pytest.mark.parametrize("table", [None, NAME])
def test_messages_for_kafka(tmp_path: Path, key: Path, style: str, table: str | None) -> None:
    """Their keys too, and the schemas in them."""
    options = TailOptions(table=table, **{name: value if name == "mask_key" else tuple(value)
                                          for name, value in masks(key).items()})  # fmt: skip
    messages: list[Message] = []
    with open_tail(people_log(tmp_path / "cdc_raw").path, options.for_run(once=True), writes=False) as tail:
        for step in steps(tail, once=True, say=lambda line: None):
            envelope = Envelope(EnvelopeOptions(style, with_schema=style == "debezium"), tail.definition, tail.typed)
            for task in step.tasks:
                for batch in tail.read(task):
                    messages += envelope.messages(batch.to_arrow(), 0)
            tail.advance(step)
    text = str(messages)
    assert hashed(b"clear-pk") in text
    assert [each for each in CLEAR if each in text] == []
    assert any(message.key and hashed(b"clear-pk").encode() in message.key for message in messages)


def test_a_range_that_nobody_can_tell_is_refused_by_who_puts_rows_together(tmp_path: Path, key: Path) -> None:
    given = {"mask": [f"{NAME}.ck=hash"], "mask_key": key}
    batches = list(tailer.open(people_log(tmp_path / "cdc_raw").path, **given).read())
    told, untold = (row for batch in batches for row in batch.to_pylist() if row["op"] == "delete_range")
    columns = tuple(Column(each.name, each.kind, each.type, each.position) for each in PEOPLE.columns)
    plan = plan_of(Table.of(TableDefinition(PEOPLE.id.hex, "ks", "people", columns)))
    assert changed(told, plan) is not None, "all hashed columns of its bounds are one value"
    with pytest.raises(DefinitionError, match="a range between values that are masked"):
        changed(untold, plan)


def test_schema_rows_have_the_types_of_the_rows(tmp_path: Path, key: Path) -> None:
    rows = rows_of(people_log(tmp_path / "cdc_raw").path, schema_changes=True, **masks(key))
    types = {each["name"]: each["type"] for each in rows[0]["columns"]["columns"]}
    assert rows[0]["op"] == "schema"
    assert (types["number"], types["m"], types["at"]) == ("text", "map<text, text>", "int")
    assert "gone" not in types


def test_a_journal_that_forgets_keeps_the_last_masks_of_each_consumer() -> None:
    first, second, other = (
        MasksRecord(n=n, consumer=consumer, masks=masks_of([f"ks.t.{column}=null"], []))
        for n, consumer, column in ((1, "c", "a"), (2, "c", "b"), (3, "d", "a"))
    )
    assert wanted([first, second, other], Floor(10, 3)) == [second, other]
