"""The definitions in a partition: those that its entries can need, the same rows and errors as with all."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tailer.definitions import met
from tailer.definitions.at_spans import builtin
from tailer.definitions.met import FEW_TABLES, TablesMet
from tailer.errors import DefinitionError
from tailer.options.tail import TailOptions
from tailer.planning.batch_tasks import FileTask
from tailer.position import Span
from tailer.reading.reader import Reader
from tailer.reading.task import ReadTask
from tailer.schema.model import Column, TableDefinition
from tailer.schema.selection import Selection
from tailer.segments.heads import FirstIds
from tailer.segments.run import Run
from tailer.segments.runs import read_run
from tailer.segments.segment import SegmentFile
from tailer.spark.executor import JobPacker, read_job
from tailer.spark.node import Node
from tailer.spark.planner import UNLIMITED
from tests.helpers.log_writer import (
    LogFolder,
    SegmentWriter,
    Table,
    completed,
    create_payload,
    encode_mutation,
    insert,
    insert_payload,
    segment_of,
    simple_table,
    system_id,
)
from tests.helpers.logs.model import Cell, Complex, Liveness, Row, Update
from tests.helpers.logs.model import Column as LogColumn

FIRST = 1_700_000_000_001
A_TABLE = 100
"""More than this many bytes has each definition."""


def tables(keyspace: str, count: int, first: int = 1) -> list[Table]:
    return [simple_table(keyspace, f"t{number}", first + number) for number in range(count)]


def both(one: Table, other: Table, number: int) -> bytes:
    """A batch's mutation: the id of the second table stands in the middle of it."""
    return encode_mutation((*insert(one, number, "both", number), *insert(other, number, "both", number)))


def folder_of(path: Path, known: Sequence[Table], *sections: Sequence[bytes]) -> Path:
    """A segment that creates the tables, and one of a section each behind it."""
    log = LogFolder(path)
    contents = [[create_payload(table) for table in known], *sections]
    for number, payloads in enumerate(contents):
        writer = segment_of(FIRST + number, [payloads])
        log.put(writer, completed(writer))
    return path


def planned(folder: Path, **options: Any) -> tuple[list[FileTask], list[int], list[list[dict[str, Any]]]]:
    """What a batch of everything is: its tasks, how long each is packed, and its rows."""
    given = TailOptions(**{"consumer": "spark", "settle_seconds": 0.0, **options})
    node = Node("local", folder, given, None, lambda line: None)
    try:
        first = node.initial()
        assert node.plan(UNLIMITED)[0]
        assert node.handed is not None
        found = node.tasks(first, node.handed)
        jobs = [JobPacker().pack(task, folder, given) for task in found]
        return (
            found,
            [len(job) for job in jobs],
            [[row for b in read_job(job) for row in b.to_pylist()] for job in jobs],
        )
    finally:
        node.close()


def sent(task: FileTask) -> set[str]:
    return {held.name for id, held in task.task.definitions.items() if id not in builtin()}


def test_a_partition_has_the_tables_of_its_entries_whatever_else_there_is(tmp_path: Path) -> None:
    sizes = []
    for count in (FEW_TABLES + 1, 10 * FEW_TABLES):
        known = tables("shop", count)
        rows = [insert_payload(known[number % 2], number, "own", number) for number in range(10)]
        found, lengths, read = planned(folder_of(tmp_path / str(count) / "cdc_raw", known, rows))
        assert sent(found[1]) == {"shop.t0", "shop.t1"}
        assert [row["table"] for row in read[1]] == ["t0", "t1"] * 5
        sizes.append(lengths[1])
    assert abs(sizes[1] - sizes[0]) < A_TABLE


def test_few_tables_go_along_whole(tmp_path: Path) -> None:
    known = tables("shop", FEW_TABLES)
    found, _, _ = planned(folder_of(tmp_path / "cdc_raw", known, [insert_payload(known[0], 1, "own", 1)]))
    assert len(sent(found[1])) == FEW_TABLES


def test_where_mutations_are_of_several_tables_all_of_their_keyspaces_go_along(tmp_path: Path) -> None:
    shop, other = tables("shop", FEW_TABLES), tables("other", FEW_TABLES, 1000)
    rows = [both(shop[0], shop[7], 1), insert_payload(other[3], 2, "own", 2)]
    found, _, read = planned(folder_of(tmp_path / "cdc_raw", [*shop, *other], rows))
    assert sent(found[1]) == {*(f"shop.t{number}" for number in range(FEW_TABLES)), "other.t3"}
    assert [(row["keyspace"], row["table"]) for row in read[1]] == [("shop", "t0"), ("shop", "t7"), ("other", "t3")]


@pytest.mark.parametrize("options", [{}, {"tables": ("shop.t7",)}, {"tables": ("shop.*",)}, {"schema_changes": True}])
def test_rows_are_those_that_all_definitions_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    """Tables that come in the middle of a segment too, and some that nobody wants."""
    shop, other = tables("shop", 40), tables("other", 40, 1000)
    quiet = simple_table("shop", "quiet", 2000, cdc=False)
    late = tables("late", 3, 3000)
    rows = [insert_payload(each, 1, "own", 1) for each in (*shop[::3], *other[::7], quiet)]
    mixed = [both(quiet, shop[7], 3), *map(create_payload, late), both(late[0], late[2], 4), both(shop[7], quiet, 5)]
    known = [*shop, *other, quiet]
    folder = folder_of(tmp_path / "cdc_raw", known, rows, mixed, rows[:1], [both(shop[1], shop[2], 9)])
    narrow, _, found = planned(folder, consumer="narrow", **options)
    monkeypatch.setattr(met, "FEW_TABLES", 1 << 40)
    whole, _, expected = planned(folder, consumer="whole", **options)
    assert found == expected
    assert sum(map(len, expected)) >= 2
    assert sent(whole[3]) == {f"{table.keyspace}.{table.name}" for table in (*known, *late)}
    if "schema_changes" not in options:
        assert sent(narrow[3]) == {"shop.t0"}
        assert "other.t0" not in sent(narrow[4])


def test_a_batch_that_another_run_planned_has_all(tmp_path: Path) -> None:
    known = tables("shop", 2 * FEW_TABLES)
    folder = folder_of(tmp_path / "cdc_raw", known, [insert_payload(known[0], 1, "own", 1)])
    given = TailOptions(consumer="spark", settle_seconds=0.0)
    node = Node("local", folder, given, None, lambda line: None)
    first = node.initial()
    assert node.plan(UNLIMITED)[0]
    end = node.handed
    node.close()
    assert end is not None
    again = Node("local", folder, given, None, lambda line: None)
    try:
        found = again.tasks(first, end)
    finally:
        again.close()
    assert len(sent(found[1])) == 2 * FEW_TABLES


LOCAL_COLUMNS = LogColumn("key", "partition_key", "text", 0), LogColumn("truncated_at", "regular", "map<uuid, blob>")
LOCAL = Table(system_id("system", "local"), "system", "local", LOCAL_COLUMNS, cdc=False)


def truncated(table: Table) -> bytes:
    """TRUNCATE of a table, as `system.local` has it: its id, and up to where in the log."""
    before = struct.pack(">qiq", FIRST, 99, 1_700_000_000_000)
    row = Row((), Liveness(7), None, (("truncated_at", Complex((Cell(before, 7, path=table.id.bytes),))),))
    return encode_mutation((Update(LOCAL, b"local", (row,)),))


def test_a_truncation_is_told_though_nothing_else_of_its_table_stands_there(tmp_path: Path) -> None:
    known = tables("shop", 2 * FEW_TABLES)
    _, _, read = planned(folder_of(tmp_path / "cdc_raw", known, [truncated(known[9])]))
    assert [(row["op"], row["table"]) for rows in read for row in rows] == [("truncate", "t9")]


@pytest.mark.parametrize("options", [{}, {"tables": ("shop.*",)}])
def test_a_batch_of_a_table_that_is_made_in_the_span_and_of_one_before(tmp_path: Path, options: dict[str, Any]) -> None:
    known, new = tables("shop", 2 * FEW_TABLES), simple_table("shop", "new", 5000)
    payloads = [create_payload(new), both(new, known[3], 1)]
    _, _, read = planned(folder_of(tmp_path / "cdc_raw", known, payloads), **options)
    assert [row["table"] for row in read[1]] == ["new", "t3"]


def test_a_batch_that_begins_with_a_table_that_nothing_defines_is_no_less_an_error(tmp_path: Path) -> None:
    """Tables that were named, one of them behind it: passed over it would be lost."""
    known, unknown = tables("shop", 2 * FEW_TABLES), simple_table("shop", "unknown", 5000)
    folder = folder_of(tmp_path / "cdc_raw", known, [both(unknown, known[3], 1)])
    with pytest.raises(DefinitionError):
        planned(folder, tables=("shop.t3",))


def test_a_server_s_own_tables_widen_nothing(tmp_path: Path) -> None:
    known = tables("shop", 2 * FEW_TABLES)
    peers = replace(simple_table("system", "peers_v2", cdc=False), id=system_id("system", "peers_v2"))
    rows = [insert_payload(peers, 1, "own", 1), insert_payload(known[0], 1, "own", 1)]
    found, _, read = planned(folder_of(tmp_path / "cdc_raw", known, rows))
    assert sent(found[1]) == {"shop.t0"}
    assert [row["table"] for row in read[1]] == ["t0"]


def run_in(path: Path, *sections: Sequence[bytes]) -> Run:
    """The sections of a segment, read back."""
    writer: SegmentWriter = segment_of(FIRST, sections)
    log = LogFolder(path).put(writer, completed(writer))
    with SegmentFile(log, FIRST) as file:
        run = read_run(file, writer.header_length, writer.header_length)
    assert run is not None
    return run


def task_of(run: Run, known: Sequence[TableDefinition], selection: Selection, **more: int) -> ReadTask:
    start, end = more.get("start", int(run.sections[0])), more.get("end", run.edge)
    span = Span(FIRST, start, end, start, start, end)
    return ReadTask("local", span, {**builtin(), **{held.id: held for held in known}}, (), selection)


def definitions(count: int) -> list[TableDefinition]:
    columns = (Column("pk", "partition_key", "int"),)
    return [TableDefinition(table.id.hex, "shop", table.name, columns, cdc=True) for table in tables("shop", count)]


def test_only_what_was_walked_whole_is_known(tmp_path: Path) -> None:
    known = definitions(FEW_TABLES + 1)
    own = tables("shop", 3)
    run = run_in(tmp_path, *([insert_payload(table, 1, "own", 1)] for table in own))
    first = run.part(int(run.sections[0]), int(run.sections[1]), 1 << 20)
    last = run.part(int(run.sections[2]), run.edge, 1 << 20)
    assert first is not None
    assert last is not None
    tables_met, task = TablesMet(), task_of(run, known, Selection())
    assert tables_met.narrowed(task) is task
    tables_met.note(FIRST, first, FirstIds(first).tables())
    assert tables_met.narrowed(task) is task
    tables_met.note(FIRST, last, FirstIds(last).tables())
    assert tables_met.narrowed(task) is task, "there is a gap"
    tables_met.note(FIRST, run, FirstIds(run).tables())
    narrow = tables_met.narrowed(task)
    assert len(narrow.definitions) == len(builtin()) + 3
    assert tables_met.narrowed(task).definitions is narrow.definitions
    tables_met.forget_below(FIRST + 1)
    assert tables_met.narrowed(task) is task


def test_other_tables_wanted_of_the_same_definitions_are_another_part(tmp_path: Path) -> None:
    known = definitions(2 * FEW_TABLES)
    bad = msgspec.structs.replace(known[-1], columns=(Column("pk", "partition_key", "nonsense<"),))
    run = run_in(tmp_path, [insert_payload(tables("shop", 1)[0], 1, "own", 1)])
    tables_met, task = TablesMet(), task_of(run, [*known[:-1], bad], Selection(("shop.t0",)))
    tables_met.note(FIRST, run, FirstIds(run).tables())
    assert bad.id not in tables_met.narrowed(task).definitions
    assert bad.id in tables_met.narrowed(replace(task, selection=Selection())).definitions


def test_no_more_parts_are_kept_than_a_batch_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream runs for months, and each walk may have met other tables."""
    monkeypatch.setattr(met, "KEPT_MAX", 2)
    known, own = definitions(2 * FEW_TABLES), tables("shop", 4)
    run = run_in(tmp_path, *([insert_payload(table, 1, "own", 1)] for table in own))
    tables_met, whole, made = TablesMet(), task_of(run, known, Selection()), []
    starts = run.sections.tolist()
    for start, end in zip(starts, [*starts[1:], run.edge], strict=True):
        part = run.part(start, end, 1)
        assert part is not None
        tables_met.note(FIRST, part, FirstIds(part).tables())
        made.append(tables_met.narrowed(replace(whole, span=replace(whole.span, end=end))))
    assert [len(task.definitions) - len(builtin()) for task in made] == [1, 2, 3, 4]
    tables_met.forget_below(FIRST + 1)
    first = run.part(starts[0], starts[1], 1)
    assert first is not None
    tables_met.note(FIRST, first, FirstIds(first).tables())
    again = tables_met.narrowed(replace(whole, span=replace(whole.span, end=starts[1])))
    assert again.definitions == made[0].definitions
    assert again.definitions is not made[0].definitions


def test_an_entry_whose_first_table_cannot_be_told_keeps_all(tmp_path: Path) -> None:
    """A count of updates from 128 on takes two bytes, and the id stands one further."""
    table = tables("shop", 1)[0]
    many = b"\x80\x80" + encode_mutation(insert(table, 1, "own", 1))[1:]
    run = run_in(tmp_path, [many])
    tables_met, task = TablesMet(), task_of(run, definitions(FEW_TABLES + 1), Selection())
    tables_met.note(FIRST, run, FirstIds(run).tables())
    assert tables_met.narrowed(task) is task


def test_a_wanted_definition_that_cannot_be_used_is_told_wherever_its_rows_are(tmp_path: Path) -> None:
    known = definitions(2 * FEW_TABLES)
    bad = msgspec.structs.replace(known[-1], columns=(Column("pk", "partition_key", "nonsense<"),))
    run = run_in(tmp_path, [insert_payload(tables("shop", 1)[0], 1, "own", 1)])
    tables_met, task = TablesMet(), task_of(run, [*known[:-1], bad], Selection())
    tables_met.note(FIRST, run, FirstIds(run).tables())
    narrow = tables_met.narrowed(task)
    assert {id for id in narrow.definitions if id not in builtin()} == {known[0].id, bad.id}
    unwanted = replace(task, selection=Selection(("shop.t0",)))
    tables_met = TablesMet()
    tables_met.note(FIRST, run, FirstIds(run).tables())
    assert {id for id in tables_met.narrowed(unwanted).definitions if id not in builtin()} == {known[0].id}
    for each in (task, narrow):
        with SegmentFile(tmp_path / segment_of(FIRST, []).name, FIRST) as file, pytest.raises(DefinitionError) as told:
            list(Reader().read(each, file, lambda at, error, data: None))
        assert "nonsense" in told.value.sentence()


def test_a_task_of_two_tables_among_five_thousand_is_small(tmp_path: Path) -> None:
    """With all definitions it is half a megabyte even where each has one column."""
    own = tables("shop", 2)
    run = run_in(tmp_path, [insert_payload(own[number % 2], number, "own", number) for number in range(10)])
    tables_met, whole = TablesMet(), task_of(run, definitions(5000), Selection())
    tables_met.note(FIRST, run, FirstIds(run).tables())
    options = TailOptions()
    narrow, all_of_them = (
        len(JobPacker().pack(FileTask(task, "log"), tmp_path, options)) for task in (tables_met.narrowed(whole), whole)
    )
    assert narrow < 1000
    assert all_of_them > 500 * narrow / 2
