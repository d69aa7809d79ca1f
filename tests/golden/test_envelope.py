"""Messages of recorded logs: what `after` shows is what SELECT showed, and generic and typed rows give the same."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import tailer
from tailer.definitions.whole_folder import learn
from tailer.options.tail import TailOptions
from tailer.schema.model import TableDefinition
from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.messages import Message
from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.state.node_log import folder_log
from tests.helpers.sets import Place, copy_folder
from tests.helpers.tails import open_tail

SET = "50-cases"
AT = 1_795_300_000_000
OPTIONS = TailOptions(stopped=True).for_run(once=True)

OTHERWISE = {"cdc.scalars", "cdc.coll_types", "cdc.compact_keys", "cdc.altered_type"}
"""SELECT shows them otherwise: NaN, infinities and values of no bytes as null, fields by their names of today."""

TWINS = (
    "batch_a", "ck_all", "coll", "counters", "custom", "deletes", "dropped", "pk_comp", "pk_decimal", "range3_desc",
    "statics", "timestamps", "ttl", "udt_key", "udt_map", "wide70",
)  # fmt: skip
"""Without durations and tuples, which the typed form has as objects, values of no bytes, which it has as null, and
what was renamed, which it has under its newest name."""


@pytest.fixture(scope="module")
def folder(sets_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    copied = tmp_path_factory.mktemp("envelope") / "cdc_raw"
    copy_folder(Place(SET).folder(sets_root), copied)
    return copied


@pytest.fixture(scope="module")
def definitions(folder: Path) -> Mapping[str, TableDefinition]:
    return learn(folder_log(folder), OPTIONS, OPTIONS.keys()).history.newest


@pytest.fixture(scope="module")
def debezium(folder: Path, definitions: Mapping[str, TableDefinition]) -> list[Message]:
    envelope = Envelope(EnvelopeOptions("debezium"), definitions.get)
    batches = tailer.open(folder, stopped=True).read()
    return [message for batch in batches for message in envelope.messages(batch, AT)]


def test_after_shows_what_select_showed(debezium: list[Message], sets_root: Path) -> None:
    shown: dict[str, list[dict[str, Any]]] = {}
    for line in (sets_root / SET / "select.jsonl").read_text().splitlines():
        told = json.loads(line)
        shown.setdefault(told["table"], []).append(told["row"])
    written = Counter((message.keyspace, message.table, message.key) for message in debezium)
    compared = 0
    for message in debezium:
        name, value = f"{message.keyspace}.{message.table}", json.loads(message.value or b"")
        key = json.loads(message.key or b"null")
        # Rows that were written once, and are there still.
        rows = [row for row in shown.get(name, ()) if key and all(row.get(name) == key[name] for name in key)]
        if written[message[1:4]] == len(rows) == 1 and value["op"] in ("c", "u") and name not in OTHERWISE:
            after = value["after"]
            assert after == {column: rows[0][column] for column in after}, name
            compared += 1
    assert compared > 1200


@pytest.mark.parametrize("table", TWINS)
def test_typed_rows_give_the_same_messages(
    table: str, folder: Path, definitions: Mapping[str, TableDefinition], debezium: list[Message]
) -> None:
    options: dict[str, Any] = {"table": f"cdc.{table}", "decimals": "string", "stopped": True}
    with open_tail(folder, TailOptions(**options).for_run(once=True), writes=False) as tail:
        typed = tail.typed
    envelope = Envelope(EnvelopeOptions("debezium"), definitions.get, typed)
    batches = list(tailer.open(folder, **options).read())
    made = [message for batch in batches for message in envelope.messages(batch, AT)]
    assert _without_row(made) == _without_row(message for message in debezium if message.table == table)
    assert len(made) > 1


def _without_row(messages: Iterable[Message]) -> list[Message]:
    """The number of the row is that in its batch, which has other rows too."""
    return [message._replace(row=0) for message in messages]
