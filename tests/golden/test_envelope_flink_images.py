"""A foreign reader of images: the table that Flink's `debezium-json` makes of our messages is what SELECT showed.

A table of Flink's has no primary key where the source's has static columns: these have messages of their own, without
clustering columns, and the join of both is what SELECT shows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import pytest

from tailer.images.image import Image
from tailer.images.image_rows import ImageRows
from tailer.rebuild import Table
from tailer.rows.image_ops import OF_ONE_ROW
from tailer.schema.model import Column
from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.types import parse_type
from tests.helpers import flink
from tests.helpers.cli import run_cli
from tests.helpers.data_files import lines_of
from tests.helpers.flink_types import EXACT, answered, asked, flink_type, name
from tests.helpers.imaged import images_of
from tests.helpers.rebuilt import INCOMPLETE, recorded, spelled, tables_of
from tests.helpers.sets import Place, copy_folder
from tests.oracle.jsontext import Json, Number, dumps, loads

pytestmark = pytest.mark.soak

SETS = ("40-cases", "50-cases", "50-crash-gap")
MANY_DIGITS = Context(prec=1000)
AT = 1_795_300_000_000
SKIPS = {"ignore_parse_errors": "true"}
"""What Flink needs where one message tells of several rows, each of which has one of its own besides."""
BY_KEY = {"table.exec.source.cdc-events-duplicate": "true"}
"""Flink then keeps rows by their primary key: the delete of a row that was not there is a message too."""

WIDE = {"ck_all", "ck_all_desc", "coll_types", "pk_all", "pk_date", "pk_decimal", "pk_varint", "scalars"}
"""Tables with dates, timestamps or decimals that Flink's types have no room for: texts there."""
NULL_KEYS = {"compact_dense", "compact_keys"}
"""Tables with a null in a key, which Flink's primary keys do not take."""
OTHERWISE = {"cdc.scalars_empty": "a value of no bytes is no number for Flink"}
"""Tables that Flink refuses, and why."""
FOLLOWED = ("cdc.coll", "cdc.deletes", "cdc.nulls")
"""Tables without TTLs: what is followed now shows what SELECT showed then."""


@pytest.fixture(scope="module", autouse=True)
def _runs_here() -> None:
    reason = flink.available()
    if reason:
        pytest.skip(f"no Flink: {reason}")


class Foreign:
    """A table of the source as Flink is told of it."""

    def __init__(self, table: Table) -> None:
        definition = table.definition
        self._definition = definition
        self.wide = definition.table in WIDE
        self.key = [*definition.partition_key, *definition.clustering]
        self.data = [each for each in definition.data_columns if not each.dropped and each.type != "empty"]
        self.static = [each for each in self.data if each.kind == "static"]
        self.by_key = not self.static and definition.table not in NULL_KEYS
        self.types = {each.name: parse_type(each.type, definition.types) for each in (*self.key, *self.data)}

    @property
    def columns(self) -> str:
        """For its DDL."""
        listed = [f"{name(each)} {flink_type(type_, wide=self.wide)}" for each, type_ in self.types.items()]
        if self.wide:
            listed.append(f"{EXACT} DECIMAL(1, 0)")
        if self.by_key:
            listed.append(f"PRIMARY KEY ({_names(self.key)}) NOT ENFORCED")
        return ", ".join(listed)

    @property
    def sql(self) -> str:
        """All its rows, with their static columns."""
        exprs = ", ".join(asked(name(each), type_) for each, type_ in self.types.items())
        return f"SELECT {exprs} FROM ({self._joined})" + (f" WHERE {EXACT} IS NULL" if self.wide else "")

    @property
    def _joined(self) -> str:
        clustering = self._definition.clustering
        if not self.static or not clustering:
            return "SELECT * FROM t"
        partition = [_name(each) for each in self._definition.partition_key]
        listed = [f"COALESCE(r.{each}, s.{each}) AS {each}" for each in partition]
        listed += [f"r.{_name(each)}" for each in clustering]
        listed += [f"{'s' if each.kind == 'static' else 'r'}.{_name(each)}" for each in self.data]
        first = _name(clustering[0])
        same = " AND ".join(f"r.{each} = s.{each}" for each in partition)
        return (
            f"SELECT {', '.join(listed)} FROM (SELECT * FROM t WHERE {first} IS NOT NULL) AS r "
            f"FULL JOIN (SELECT * FROM t WHERE {first} IS NULL) AS s ON {same}"
        )

    def rows(self, answer: Iterable[Sequence[Any]]) -> list[str]:
        """The rows that are left when all that Flink told is added up."""
        left: Counter[str] = Counter()
        for kind, *values in answer:
            pairs = zip(self.types.items(), values, strict=True)
            row = spelled({column: answered(value, type_) for (column, type_), value in pairs})
            left[by_value(row)] += 1 if kind in ("+I", "+U") else -1
        assert min(left.values(), default=0) >= 0, left
        return sorted(left.elements())


def _name(column: Column) -> str:
    return name(column.name)


def _names(columns: Iterable[Column]) -> str:
    return ", ".join(map(_name, columns))


def by_value(row: str) -> str:
    """Numbers by their value: Flink's decimals have the digits that their type says, and zero has no sign."""
    return dumps(_by_value(loads(row)))


def _by_value(value: Json) -> Json:
    if isinstance(value, dict):
        return {each: _by_value(value[each]) for each in sorted(value)}
    if isinstance(value, list):
        return [_by_value(part) for part in value]
    if isinstance(value, Number) or (isinstance(value, int) and not isinstance(value, bool)):
        return Number(MANY_DIGITS.normalize(Decimal(str(value))) or 0)
    return value


def query(table: Table, images: Sequence[Image], folder: Path) -> flink.Query:
    """Messages of one table's images in a file, and what is asked of it."""
    messages = Envelope(EnvelopeOptions("debezium"), {table.definition.id: table.definition}.get, images=True)
    folder.mkdir(parents=True)
    (folder / "part.json").write_bytes(messages.messages(ImageRows(images).to_arrow(), AT).lines())
    foreign = Foreign(table)
    of_many = any(image.op not in OF_ONE_ROW for image in images)
    return flink.Query(foreign.columns, folder, foreign.sql, SKIPS if of_many else {}, BY_KEY if foreign.by_key else {})


def test_as_a_user_does_it(sets_root: Path, tmp_path: Path) -> None:
    """Data files of `follow --image both --to files:`, and one of their messages twice."""
    folder, files = tmp_path / "cdc_raw", tmp_path / "files"
    copy_folder(Place("50-cases").folder(sets_root), folder)
    words = ["follow", str(folder), "--once", "--stopped", "--consumer", "c", "--image", "both", "--format", "debezium"]
    ran = run_cli([*words, *(f"--table={each}" for each in FOLLOWED), "--to", f"files:{files}"])
    assert ran.code == 0, ran.err
    messages = lines_of(files / "images")
    recording = recorded("50-cases", sets_root)
    queries = []
    for each in FOLLOWED:
        mine = [json.dumps(message) for message in messages if f"cdc.{message['source']['table']}" == each]
        foreign, into = Foreign(tables_of(recording)[each]), tmp_path / each
        into.mkdir()
        (into / "part.json").write_text("\n".join([*mine, mine[-1]]))
        queries.append(flink.Query(foreign.columns, into, foreign.sql, settings=BY_KEY))
    for each, answer in zip(FOLLOWED, flink.ask(queries), strict=True):
        assert not isinstance(answer, str), answer
        found = Foreign(tables_of(recording)[each]).rows(answer)
        assert found == sorted(map(by_value, recording.shown[each]))


@pytest.mark.parametrize("set_name", SETS)
def test_it_is_what_select_shows(set_name: str, sets_root: Path, tmp_path: Path) -> None:
    recording = recorded(set_name, sets_root)
    images, tables = images_of(recording), tables_of(recording)
    by_table = {each: [image for image in images if f"{image.keyspace}.{image.table}" == each] for each in tables}
    queries = [query(table, by_table[each], tmp_path / f"{n}") for n, (each, table) in enumerate(tables.items())]
    wrong: dict[str, Any] = {}
    for (each, table), answer in zip(tables.items(), flink.ask(queries), strict=True):
        expected = sorted(map(by_value, recording.shown[each]))
        found = answer if isinstance(answer, str) else Foreign(table).rows(answer)
        if found != expected:
            wrong[each] = found if isinstance(found, str) else set(found) ^ set(expected)
    assert set(wrong) == (set(INCOMPLETE) | set(OTHERWISE)) & set(tables), wrong
