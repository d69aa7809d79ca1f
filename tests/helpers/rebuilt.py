"""Recorded sets for rebuilding: change rows as the reader gives them, definitions, and what SELECT showed."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import tailer
from tailer.definitions.whole_folder import learn
from tailer.options.tail import TailOptions
from tailer.rebuild import Table
from tailer.rebuild.changes import changed, truncation
from tailer.rebuild.facts import Fact
from tailer.rebuild.rows import rows_at
from tailer.rebuild.state import join
from tailer.rebuild.table import plan_of
from tailer.schema.model import TableDefinition
from tailer.segments.keystore import keystore_keys
from tailer.segments.segment import KeySource, no_keys
from tailer.state.node_log import folder_log
from tests.helpers.rebuilt_json import row_json
from tests.helpers.sets import STAGES, key_options, stage_folders
from tests.oracle.jsontext import Json, Number, dumps, loads

SETS = (
    "40-aes", "40-cases", "41-cases", "41-lz4", "50-aes", "50-batch-sync", "50-cases", "50-cases-v8", "50-deflate",
    "50-direct", "50-group-sync", "50-killed-lz4", "50-lz4", "50-snappy", "50-zstd",
    "40-crash", "41-lz4-live", "50-cap", "50-crash", "50-crash-gap", "50-live", "50-lz4-crash", "50-nonblocking",
)  # fmt: skip
"""All that have a `select.jsonl`: every set but `50-torn`."""

INCOMPLETE = {"cdc.toggled": "its row 2 was written while the table had cdc = false"}
"""Tables whose changes cannot give what SELECT shows, and why."""

MISFITS = {"cdc.scalars"}
"""Tables with timestamps that Spark has no room for."""

ASKED_AFTER = {"50-killed-lz4": 50}
"""Seconds from the last write to the SELECT, where a restart lay between: TTLs of 60 had passed, one of 100 had not."""

JAVA_DIGITS = {"5.0E-324": "4.9E-324", "1.0E-45": "1.4E-45"}
"""Java writes two digits where one would tell the number."""


@dataclass(frozen=True)
class Recorded:
    """One set: its change rows in log order, each table by its last definition, the rows that SELECT showed.

    `at`: the second in which it was asked.
    """

    name: str
    rows: list[dict[str, Any]]
    tables: dict[str, Table]
    shown: Mapping[str, list[str]]
    at: int


@functools.cache
def recorded(name: str, root: Path) -> Recorded:
    options, env = key_options(root / name)
    # Where segments are missing, definitions come from a file.
    schema = root / name / "schema.cql" if name in STAGES else None
    with tempfile.TemporaryDirectory(prefix="cdc-tail-") as parent, mock.patch.dict(os.environ, env):
        folder = Path(parent) / "cdc_raw"
        gather(name, root, folder)
        keystore = Path(options[1]) if options else None
        log = tailer.open(folder, stopped=True, schema_file=schema, keystore=keystore)
        rows = [row for batch in log.read() for row in batch.to_pylist()]
        keys = keystore_keys(keystore, None, env) if keystore else no_keys
        tables = known_tables(folder, TailOptions(schema_file=schema), keys)
    return Recorded(name, rows, tables, _shown(root / name), _last_second(rows) + ASKED_AFTER.get(name, 0))


def known_tables(folder: Path, options: TailOptions, keys: KeySource = no_keys) -> dict[str, Table]:
    """By id, the tables that are there at the end."""
    learnt = learn(folder_log(folder), options, keys)
    assert not learnt.errors
    history: dict[str, list[TableDefinition]] = defaultdict(list)
    for event in learnt.history.events:
        for id, definition in event.changed.items():
            history[id].append(definition)
    return {id: Table.of(held[-1], held[:-1]) for id, held in history.items() if not held[-1].dropped}


def _last_second(rows: list[dict[str, Any]]) -> int:
    """Of the last write by the server's clock; a client's own timestamps may be anything."""
    stamps = [row["write_ts"] // 1_000_000 for row in rows]
    # A segment's id is the second of the server's start, in milliseconds.
    started = max(row["segment"] for row in rows) // 1000
    return max(stamp for stamp in stamps if stamp < started + 3600)


def gather(name: str, root: Path, folder: Path) -> None:
    """The set's folder; of one with stages every file as it was last seen."""
    if name not in STAGES:
        shutil.copytree(root / name / "cdc_raw", folder)
        return
    folder.mkdir(parents=True)
    for stage in stage_folders(root / name):
        for file in stage.iterdir():
            shutil.copyfile(file, folder / file.name)


def _shown(set_dir: Path) -> Mapping[str, list[str]]:
    shown: dict[str, list[str]] = defaultdict(list)
    for line in (set_dir / "select.jsonl").read_bytes().splitlines():
        told = loads(line)
        shown[told["table"].replace('"', "")].append(spelled({bare(n): cell for n, cell in told["row"].items()}))
    return shown


def bare(name: str) -> str:
    """A name without the server's inner quotes."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def spelled(row: Mapping[str, Json]) -> str:
    """One spelling for the server's rows and ours; what the server shows as null (NaN) is left out."""
    return dumps({name: value for name in sorted(row) if (value := _plain(row[name])) is not None})


def _plain(value: Json) -> Json:
    if isinstance(value, dict):
        return {_key(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if value in ("NaN", "Infinity", "-Infinity"):
        return None
    if isinstance(value, Number):
        return Number(JAVA_DIGITS.get(value, value))
    if isinstance(value, str) and value.startswith("-292275055-"):
        # The server drops the sign of such a year.
        return value.replace("-292275055", "+292275056")
    return "" if value == "0s" else value


def _key(name: str) -> str:
    """Of a map or a user-defined type; the server shows a key that is no number as null."""
    if name.startswith(("{", "[")):
        with suppress(ValueError):
            return dumps(_plain(loads(name)))
    return "null" if name == "NaN" else bare(name)


def tables_of(recording: Recorded) -> dict[str, Table]:
    """The tables that SELECT was asked of, by name."""
    return {table.name: table for table in recording.tables.values() if table.name in recording.shown}


def rebuilt(rows: list[dict[str, Any]], table: Table, at: int) -> list[str]:
    """The table's rows as `spelled` has them."""
    plan = plan_of(table)
    hidden = {column.name for column in table.definition.columns if column.type == "empty"}
    partitions: dict[bytes, dict[bytes, list[Fact]]] = defaultdict(lambda: defaultdict(list))
    truncations: dict[str, tuple[int, int]] = {}
    for row in rows:
        told = truncation(row)
        if told is not None:
            truncations[told[0]] = max(told[1], truncations.get(told[0], (0, 0)))
        made = changed(row, plan)
        if made is not None:
            partitions[made.partition][made.row] += made.facts
    texts = []
    for partition, facts in partitions.items():
        state = join(facts, plan, truncations)
        for found in rows_at(state, plan, {}, at):
            made_row = row_json(partition, found, plan)
            texts.append(spelled({name: loads(text) for name, text in made_row.items() if name not in hidden}))
    return sorted(texts)
