"""A foreign reader: Flink's `debezium-json` makes of our messages the table that SELECT showed; it refuses the rest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import tailer
from tailer.definitions.whole_folder import learn
from tailer.options.tail import TailOptions
from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.state.node_log import folder_log
from tests.helpers import flink
from tests.helpers.sets import Place, copy_folder

SET = "50-cases"
FILLER = "id INT, seq INT, body STRING, PRIMARY KEY (id, seq) NOT ENFORCED"
DELETES = "id INT, ck INT, v INT, w STRING, PRIMARY KEY (id, ck) NOT ENFORCED"

pytestmark = pytest.mark.soak

Messages = Mapping[str, list[tuple[str, dict[str, Any], bytes]]]
"""By table: `op`, the key, and the value."""


@pytest.fixture(scope="module", autouse=True)
def _runs_here() -> None:
    reason = flink.available()
    if reason:
        pytest.skip(f"no Flink: {reason}")


@pytest.fixture(scope="module")
def messages(sets_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Messages:
    folder = tmp_path_factory.mktemp("flink") / "cdc_raw"
    copy_folder(Place(SET).folder(sets_root), folder)
    options = TailOptions(stopped=True).for_run(once=True)
    envelope = Envelope(
        EnvelopeOptions("debezium"), learn(folder_log(folder), options, options.keys()).history.newest.get
    )
    found: dict[str, list[tuple[str, dict[str, Any], bytes]]] = {}
    for batch in tailer.open(folder, tables=["cdc.filler", "cdc.deletes", "cdc.truncated"], stopped=True).read():
        for message in envelope.messages(batch, 1):
            assert message.value is not None
            told = (json.loads(message.value)["op"], json.loads(message.key or b"{}"), message.value)
            found.setdefault(message.table, []).append(told)
    return found


def landed(folder: Path, *values: bytes) -> Path:
    """The values as a file that Flink reads."""
    folder.mkdir()
    (folder / "part.json").write_bytes(b"".join(value + b"\n" for value in values))
    return folder


def test_flink_reads_whole_rows_and_refuses_others(messages: Messages, sets_root: Path, tmp_path: Path) -> None:
    """A table of whole-row inserts is what SELECT shows. A row that is deleted goes by its key. An update without what
    was there before, and what deletes several rows, are refused, or skipped where a user wants that."""
    alone = {op: value for op, _, value in (*messages["deletes"], *messages["truncated"])}
    refused = ("u", "delete_range", "delete_partition", "t")
    whole = [value for _, _, value in messages["filler"]]
    # DELETE FROM cdc.deletes WHERE id = 2 AND ck = 1
    deleted = [value for _, key, value in messages["deletes"] if key == {"id": 2, "ck": 1}]
    mixed = [alone[op] for op in ("u", "delete_range", "c", "delete_partition", "t")]
    skip = {"ignore_parse_errors": "true"}
    rows, gone, left, *errors = flink.ask([
        flink.Query(FILLER, landed(tmp_path / "whole", *whole), "SELECT id, seq, body FROM t"),
        flink.Query(DELETES, landed(tmp_path / "deleted", *deleted), "SELECT id, ck, v, w FROM t"),
        flink.Query(DELETES, landed(tmp_path / "mixed", *mixed), "SELECT id FROM t", skip),
        *(flink.Query(DELETES, landed(tmp_path / op, alone[op]), "SELECT id FROM t") for op in refused),
    ])  # fmt: skip
    lines = (sets_root / SET / "select.jsonl").read_text().splitlines()
    shown = [list(each["row"].values()) for each in map(json.loads, lines) if each["table"] == "cdc.filler"]
    assert sorted(rows) == sorted(["+I", *row] for row in shown)
    assert len(rows) > 800
    assert gone == [["+I", 2, 1, 1, None], ["-D", 2, 1, None, None]]
    assert [row[0] for row in left] == ["+I"]
    for op, error in zip(refused, errors, strict=True):
        assert ("REPLICA IDENTITY" if op == "u" else f'"op" value "{op}"') in error
