"""Where rows may have been missed, none is known whole: by what a run finds in its logs, its state and its options."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import CdcError
from tailer.image_state.file import reading
from tailer.image_state.identity import nodes_of
from tailer.position import Position
from tailer.schema.cql_file import read_cql
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import SchemaRecord
from tailer.state.log_folder import state_folder
from tailer.tail.images.timers import Timers
from tests.helpers.image_runs import NOW, Runs, Taker
from tests.helpers.log_writer import (
    Cell,
    Deletion,
    LogFolder,
    Row,
    Table,
    Update,
    captured_payload,
    completed,
    create_payload,
    encode_mutation,
    i32,
    insert_payload,
    live,
    segment_of,
    simple_table,
)

ONE = 1_700_000_000_000
TABLE, OTHER = simple_table("ks", "t"), simple_table("ks", "u", 2)
TS = int(NOW * 1_000_000)
DAY = 86_400


def put(folder: Path, *payloads: bytes, segment: int = ONE) -> LogFolder:
    """A log with one segment of these entries, or what it is by now."""
    log = LogFolder(folder / "cdc_raw")
    made = segment_of(segment, [[payload] for payload in payloads])
    log.put(made, live(made))
    return log


def update(table: Table, v: bytes, ts: int = TS + 5) -> bytes:
    return encode_mutation((Update(table, i32(1), (Row((b"a",), None, None, (("v", Cell(v, ts)),)),)),))


def delete(table: Table, ts: int, pk: int = 1) -> bytes:
    return encode_mutation((Update(table, i32(pk), (Row((b"a",), deletion=Deletion(ts, ts // 1_000_000)),)),))


def one(tmp_path: Path, *payloads: bytes, **more: Any) -> Runs:
    return replace(Runs({"n1": put(tmp_path / "n1", *payloads).path}, tmp_path / "images"), **more)


def shown(runs: Runs) -> list[tuple[str, str, bool]]:
    images = (image for image in runs.taker.images if image["op"] != "schema")
    return [(image["table"], image["op"], image["complete"]) for image in images]


def uncaptured(table: Table) -> bytes:
    return create_payload(replace(table, cdc=False))


def defined(tmp_path: Path) -> Path:
    """A file that defines both tables, which were there before."""
    schema = tmp_path / "schema.cql"
    schema.write_text("".join(
        f"CREATE TABLE ks.{table.name} (pk int, ck text, v int, PRIMARY KEY (pk, ck)) "
        f"WITH ID = {table.id} AND cdc = true;"
        for table in (TABLE, OTHER)
    ))  # fmt: skip
    return schema


@pytest.mark.parametrize("tables", [(), ("ks.*",), ("ks.t",)], ids=["all", "a glob", "by its name"])
def test_a_table_that_was_created_without_being_captured(tmp_path: Path, tables: tuple[str, ...]) -> None:
    made = [uncaptured(TABLE), insert_payload(TABLE, 1, "a", 7, TS + 1), captured_payload(TABLE, cdc=True, ts=TS + 2)]
    # A deletion that is newer than the beginning, and older than that the table captures, tells not all either.
    late = [update(TABLE, i32(8), TS + 3), delete(TABLE, TS + 1, pk=2)]
    runs = one(tmp_path, made[0], tables=tables)
    runs.run()
    put(tmp_path / "n1", *made, *late)
    runs = replace(runs, wall=lambda: NOW + 1)
    runs.run()
    assert {complete for _, _, complete in shown(runs)} == {False}
    put(tmp_path / "n1", *made, *late, delete(TABLE, TS + 2_000_000))
    runs.run()
    assert shown(runs)[-1] == ("t", "delete", True)


def test_a_loss_counts_for_tables_of_which_no_row_was_seen(tmp_path: Path) -> None:
    schema = defined(tmp_path)
    runs = one(tmp_path, insert_payload(TABLE, 1, "a", 7, TS + 1))
    runs.run(schema_file=schema)
    put(tmp_path / "n1", insert_payload(TABLE, 1, "a", 7, TS + 1), update(OTHER, i32(8), TS + 3))
    log = put(tmp_path / "n1", delete(OTHER, TS + 2), segment=ONE + 1)
    for path in log.path.glob(f"*{ONE}*"):
        path.unlink()
    replace(runs, wall=lambda: NOW + 1).run(schema_file=schema, accept_loss=True)
    assert shown(runs)[1:] == [("u", "delete", False)]


def test_so_does_an_entry_in_quarantine_behind_the_create_in_one_batch(tmp_path: Path) -> None:
    runs = one(tmp_path, create_payload(TABLE), update(TABLE, b"no int"), update(TABLE, i32(5)))
    runs.run(on_error="quarantine")
    assert shown(runs) == [("t", "upsert", False)]
    put(tmp_path / "n1", create_payload(OTHER), insert_payload(OTHER, 1, "a", 7, TS + 1), segment=ONE + 1)
    log = LogFolder(runs.logs["n1"])
    entries = [create_payload(TABLE), update(TABLE, b"no int"), update(TABLE, i32(5))]
    made = segment_of(ONE, [[entry] for entry in entries])
    log.put(made, completed(made))
    runs.run(on_error="quarantine")
    assert shown(runs)[1:] == [("u", "insert", True)], "what is created behind it is whole"


def test_tables_that_a_run_did_not_read(tmp_path: Path) -> None:
    """Made and written meanwhile, or known before; then read again."""
    first = [create_payload(TABLE), create_payload(OTHER), insert_payload(TABLE, 1, "a", 7, TS + 1)]
    second = [insert_payload(OTHER, 1, "a", 7, TS + 2), insert_payload(TABLE, 2, "a", 7, TS + 2)]
    third = [update(OTHER, i32(8)), update(TABLE, i32(8))]
    everything = one(tmp_path, *first)
    everything.run()
    put(tmp_path / "n1", *first, *second)
    replace(everything, tables=("ks.t",)).run()
    put(tmp_path / "n1", *first, *second, *third)
    replace(everything, wall=lambda: NOW + 2).run()
    assert shown(everything) == [
        ("t", "insert", True),
        ("t", "insert", True),
        ("u", "upsert", False),
        ("t", "update", True),
    ]
    third += [delete(OTHER, TS + 1_000_000), delete(OTHER, TS + 3_000_000)]
    put(tmp_path / "n1", *first, *second, *third)
    replace(everything, wall=lambda: NOW + 4).run()
    assert shown(everything)[4:] == [("u", "delete", False), ("u", "delete", True)]


def test_a_table_that_came_while_it_was_not_read(tmp_path: Path) -> None:
    first = [create_payload(TABLE), insert_payload(TABLE, 1, "a", 7, TS + 1)]
    second = [create_payload(OTHER), insert_payload(OTHER, 1, "a", 7, TS + 2)]
    runs = one(tmp_path, *first, *second, tables=("ks.t",))
    runs.run()
    put(tmp_path / "n1", *first, *second, update(OTHER, i32(8)), update(TABLE, i32(8)))
    both = replace(runs, tables=("ks.t", "ks.u"))
    both.run()
    both.run()
    assert shown(runs) == [("t", "insert", True), ("u", "upsert", False), ("t", "update", True)]


@pytest.mark.parametrize(
    "wrong",
    [{"tables": ("ks.tt",)}, {"logs": {"n1": Path("nowhere")}}, {"logs": {"n1": Path(), "n9": Path("nowhere")}}],
    ids=["a table that nobody knows", "a folder that is not there", "a node that is not there"],
)
def test_a_start_that_is_refused_changes_nothing(tmp_path: Path, wrong: dict[str, Any]) -> None:
    first = [create_payload(TABLE), insert_payload(TABLE, 1, "a", 7, TS + 1)]
    runs = one(tmp_path, *first)
    runs.run()
    if "logs" in wrong:
        wrong = {"logs": {**wrong["logs"], "n1": runs.logs["n1"] if len(wrong["logs"]) > 1 else Path("nowhere")}}
    with pytest.raises(CdcError):
        replace(runs, **wrong).run(*reversed(wrong.get("logs", {"n1": None})))
    second = [create_payload(OTHER), insert_payload(OTHER, 1, "a", 7, TS + 2), update(TABLE, i32(8))]
    put(tmp_path / "n1", *first, *second)
    runs.run()
    assert shown(runs)[1:] == [("u", "insert", True), ("t", "update", True)]
    with reading(runs.folder) as seen:
        assert list(nodes_of(seen)) == ["n1"], "a name that was wrong is not kept"


def test_tables_are_the_same_in_any_order(tmp_path: Path) -> None:
    first = [insert_payload(TABLE, 1, "a", 7, TS + 1)]
    runs = one(tmp_path, *first, tables=("ks.t", "ks.u"))
    runs.run(schema_file=defined(tmp_path))
    put(tmp_path / "n1", *first, delete(OTHER, TS + 2))
    replace(runs, tables=("ks.u", "ks.t"), wall=lambda: NOW + 1).run(schema_file=defined(tmp_path))
    assert shown(runs)[1:] == [("u", "delete", True)]


def test_a_table_that_is_created_behind_a_loss_or_after_a_node_has_gone(tmp_path: Path) -> None:
    both = one(tmp_path, create_payload(TABLE))
    logs = {**both.logs, "n2": put(tmp_path / "n2", create_payload(TABLE)).path}
    replace(both, logs=logs).run()
    log = put(tmp_path / "n1", create_payload(OTHER), insert_payload(OTHER, 1, "a", 7, TS + 2), segment=ONE + 1)
    for path in log.path.glob(f"*{ONE}*"):
        path.unlink()
    both.run(accept_loss=True)
    assert shown(both) == [("u", "insert", True)]


def test_of_a_table_that_does_not_capture_no_row_is_whole(tmp_path: Path) -> None:
    """Read by its name: what stands in segments that hold nothing else may be gone before anybody sees it."""
    schema = [create_payload(TABLE), uncaptured(OTHER)]
    rows = [delete(OTHER, TS + 9_000_000), update(OTHER, i32(1), TS + 9_000_001)]
    runs = one(tmp_path, *schema, *rows, tables=("ks.t", "ks.u"))
    runs.run()
    assert shown(runs) == [("u", "delete", False), ("u", "upsert", False)]


@pytest.mark.parametrize("forgotten", [True, False])
def test_a_node_that_was_left_out_while_something_was_forgotten(tmp_path: Path, forgotten: bool) -> None:
    now, ticks = [NOW], [0.0]
    both = one(tmp_path, create_payload(TABLE), delete(TABLE, TS + 1), wall=lambda: now[0])
    logs = {**both.logs, "n2": put(tmp_path / "n2", create_payload(TABLE)).path}
    replace(both, logs=logs).run()
    stream = both.stream()
    stream.open()
    now[0], ticks[0] = NOW + (20 * DAY if forgotten else DAY), 700.0
    timers = Timers(stream, both.said.append, lambda: ticks[0] - 700.0)
    timers.read_past("n1", now[0])
    ticks[0] += 700.0
    timers.look()
    stream.close()
    # The copy of what the deletion took.
    put(tmp_path / "n2", create_payload(TABLE), insert_payload(TABLE, 1, "a", 7, TS))
    replace(both, logs=logs).run()
    assert shown(both)[1:] == ([("t", "upsert", False)] if forgotten else [])
    with reading(both.folder) as seen:
        assert {node.left for node in nodes_of(seen).values()} == {None}


def test_a_node_that_was_named_and_first_opened_after_runs_without_it(tmp_path: Path) -> None:
    """What it logged before, nobody held for it."""
    first = [create_payload(TABLE), insert_payload(TABLE, 1, "a", 7, TS + 1)]
    alone = one(tmp_path, *first)
    both = replace(alone, logs={**alone.logs, "n2": tmp_path / "n2" / "cdc_raw"})
    with pytest.raises(CdcError):
        both.run("n2")
    alone.run()
    assert shown(alone) == [("t", "insert", True)], "who is left out holds up nothing"
    put(tmp_path / "n2", update(TABLE, i32(9)), segment=ONE + 7)
    both.run(schema_file=defined(tmp_path))
    assert shown(alone)[1:] == [("t", "update", False)]


def test_what_was_taken_leaves_the_outbox_while_nothing_comes(tmp_path: Path) -> None:
    runs = one(tmp_path, create_payload(TABLE), insert_payload(TABLE, 1, "a", 7, TS))
    ticks = [0.0]
    stream = runs.stream()
    stream.open()
    timers = Timers(stream, runs.said.append, lambda: ticks[0])
    runs.feed(stream, "n1")
    assert stream.outbox.last > stream.outbox.given
    ticks[0] += 2.0
    timers.look()
    assert stream.outbox.last == stream.outbox.given
    stream.close()


def test_what_comes_too_late_is_told(tmp_path: Path) -> None:
    now, ticks = [NOW], [0.0]
    made = [create_payload(TABLE), delete(TABLE, TS + 1)]
    runs = one(tmp_path, *made, wall=lambda: now[0])
    runs.run()
    stream = runs.stream()
    stream.open()
    timers = Timers(stream, runs.said.append, lambda: ticks[0])
    for days, entries in ((20, made), (21, [*made, insert_payload(TABLE, 1, "a", 7, TS)])):
        put(tmp_path / "n1", *entries)
        runs.feed(stream, "n1")
        now[0], ticks[0] = NOW + days * DAY, ticks[0] + 700.0
        timers.read_past("n1", now[0])
        timers.look()
    stream.close()
    (said,) = [line for line in runs.said if "older than what was forgotten" in line]
    # The marker of the row, and its value.
    assert said.startswith("warning: 2 facts came")


TOGGLED = [
    create_payload(TABLE),
    captured_payload(TABLE, cdc=False, ts=TS + 1),
    captured_payload(TABLE, cdc=True, ts=TS + 2),
]
BELOW, ABOVE = TS + 3_000_000, TS + 7_000_000
"""Timestamps before and after the time at which the first consumer learnt of the table."""


@pytest.mark.parametrize(
    "schema", [TOGGLED, [uncaptured(TABLE), TOGGLED[-1]], None], ids=["again", "later", "no CREATE"]
)
def test_a_deletion_is_complete_by_when_the_journal_learnt_of_the_capture(
    tmp_path: Path, schema: list[bytes] | None
) -> None:
    """Not by when a consumer read it: one that begins later gives the same. Nobody saw what was written until then."""
    options = {} if schema is not None else {"schema_file": defined(tmp_path)}
    known = schema or [create_payload(OTHER)]
    runs = one(tmp_path, *known, wall=lambda: NOW + 5)
    runs.run(**options)
    entries = [*known, delete(TABLE, BELOW, pk=2), delete(TABLE, ABOVE, pk=3)]
    put(tmp_path / "n1", *entries)
    live = replace(runs, wall=lambda: NOW + 8)
    live.run(**options)
    assert shown(live) == [("t", "delete", False), ("t", "delete", True)]
    later = one(tmp_path, *entries, wall=lambda: NOW + 1000, consumer="later", folder=tmp_path / "later", taker=Taker())
    later.run()
    assert shown(later) == shown(live)


def test_a_state_that_begins_behind_a_definition_knows_nothing_of_before(tmp_path: Path) -> None:
    """What was written since the journal learnt of the table is not all read."""
    options = {"schema_file": defined(tmp_path)}
    one(tmp_path, create_payload(OTHER), wall=lambda: NOW + 5).run(**options)
    put(tmp_path / "n1", delete(TABLE, ABOVE, pk=3), delete(TABLE, TS + 2_000_000_000, pk=3), segment=ONE + 1)
    later = Runs({"n1": tmp_path / "n1" / "cdc_raw"}, tmp_path / "later", consumer="later", wall=lambda: NOW + 1000)
    later.run(start=f"{ONE + 1}:0")
    assert shown(later) == [("t", "delete", False), ("t", "delete", True)]


def test_a_deletion_is_complete_by_when_a_server_reported_the_table_behind_other_rows(tmp_path: Path) -> None:
    """What the server reported counts from the end of an entry on that did not make it."""
    entries = [create_payload(OTHER), insert_payload(OTHER, 1, "a", 7, TS)]
    behind = segment_of(ONE, [[payload] for payload in entries]).end
    runs = one(tmp_path, *entries, delete(TABLE, BELOW, pk=2), delete(TABLE, ABOVE, pk=3), wall=lambda: NOW + 1000)
    journal = FolderJournal(state_folder(tmp_path / "n1" / "cdc_raw"))
    deltas = tuple(read_cql(defined(tmp_path)))
    source, learnt = "server 127.0.0.1:9042", TS + 5_000_000
    journal.append([SchemaRecord(at=Position(ONE, behind), source=source, deltas=deltas, learnt=learnt)])
    runs.run()
    assert shown(runs) == [("u", "insert", True), ("t", "delete", False), ("t", "delete", True)]
