"""Generated migrations: a kept table is what SELECT shows after each of them, without a person."""

from __future__ import annotations

import json
import os
import random
from decimal import Decimal
from typing import Any

import pytest

from tailer.images import Image, Merger, Settings
from tailer.images.image import arrow_schema
from tailer.images.image_rows import ImageRows
from tailer.images.memory import MemoryStore
from tailer.images.tables import definitions_in
from tailer.rebuild import Table
from tailer.schema.model import TableDefinition
from tailer.sinks.outlet import ImagesForm, OutletContext, OutletKey, Place, ReportsEnd
from tailer.sinks.outlets import open_outlet
from tests.helpers.data_files import GIVEN, refuse
from tests.helpers.migrations import Source
from tests.unit.sinks.database.targets import Target

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
        self.id = source.id
        self.define(created=True)

    def define(self, *, created: bool = False) -> None:
        if self.source.id != self.id:
            self.images += self.merger.dropped(self.id, self.source.now)
            self.id, created = self.source.id, True
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
