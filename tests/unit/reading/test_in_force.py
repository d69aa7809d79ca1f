"""Many definitions in one span: the same rows whichever of them are made ready, and work by what is new alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tailer.errors import DefinitionError
from tailer.options.tail import TailOptions
from tailer.position import Position
from tailer.reading import in_force, reader
from tailer.reading.in_force import InForce
from tailer.schema.model import TableDefinition
from tests.helpers.log_writer import (
    TS,
    Column,
    LogFolder,
    SegmentWriter,
    Table,
    add_column,
    completed,
    create_table,
    drop_table,
    encode_mutation,
    insert,
    simple_table,
)
from tests.helpers.tails import open_tail

SEGMENT = 1_700_000_000_001
FEW, WHOLE = 1 << 40, 0
"""For FEW_BYTES_A_TABLE: look for ids wherever that is possible; never."""


def wider(table: Table) -> tuple[Table, Column]:
    """The table with one column more."""
    column = Column("w", "regular", "int")
    return Table(table.id, table.keyspace, table.name, (*table.columns, column)), column


def made(number: int) -> Table:
    return simple_table("shop", f"t{number}", number + 1)


def many_tables(count: int) -> list[bytes]:
    """Tables that are created one by one, each with a row, some altered, some dropped; each time a row of table 0."""
    first, payloads = made(0), []
    for number in range(count):
        table, ts = made(number), TS + 10 * number
        payloads.append(create_table(table, ts))
        payloads.append(insert(table, number, "own", number))
        if number % 3 == 1:
            altered, column = wider(table)
            payloads.append(add_column(altered, column, ts + 1))
            payloads.append(insert(altered, number, "altered", number))
        if number % 5 == 2:
            payloads.append(drop_table(table, ts + 2))
        if number:
            # Two tables in one mutation: the id of the second one stands in the middle of it.
            payloads.append((*insert(first, number, "both", number), *insert(table, number, "both", number)))
    return [encode_mutation(mutation) for mutation in payloads]


def folder_of(path: Path, payloads: list[bytes], a_section: int) -> Path:
    writer = SegmentWriter(SEGMENT)
    for at in range(0, len(payloads), a_section):
        writer.section(payloads[at : at + a_section])
    LogFolder(path).put(writer, completed(writer))
    return path


def read(folder: Path, **options: Any) -> list[Mapping[str, Any]]:
    found = []
    with open_tail(folder, TailOptions(**options), writes=False) as tail:
        while (step := tail.step()).tasks:
            for task in step.tasks:
                for batch in tail.read(task):
                    found += batch.rows()
            tail.advance(step)
    return found


@pytest.mark.parametrize("a_section", [1, 7, 1000])
@pytest.mark.parametrize("schema_changes", [False, True])
def test_rows_are_the_same_whichever_definitions_are_made_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, a_section: int, schema_changes: bool
) -> None:
    folder = folder_of(tmp_path / "cdc_raw", many_tables(30), a_section)
    monkeypatch.setattr(in_force, "FEW_BYTES_A_TABLE", WHOLE)
    expected = read(folder, schema_changes=schema_changes)
    monkeypatch.setattr(in_force, "FEW_BYTES_A_TABLE", FEW)
    assert read(folder, schema_changes=schema_changes) == expected
    own, both = (sorted(row[2] for row in expected if f'"{word}"' in str(row[6])) for word in ("own", "both"))
    assert own == sorted(f"t{number}" for number in range(30))
    assert both == sorted([*own[1:], *["t0"] * 29])
    assert len([row for row in expected if '"altered"' in str(row[6])]) == 10
    assert any(row[4] == "schema" for row in expected) == schema_changes


def test_what_is_made_ready_grows_with_the_tables_and_not_with_their_square(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, every table was laid out anew for each that was created."""
    counts: list[int] = []
    real = reader.prepare

    def prepare(definitions: Mapping[str, TableDefinition], *arguments: Any, **options: Any) -> Any:
        counts.append(len(definitions))
        return real(definitions, *arguments, **options)

    monkeypatch.setattr(reader, "prepare", prepare)
    made_ready = []
    for count in (50, 200):
        counts.clear()
        assert read(folder_of(tmp_path / str(count), many_tables(count), 1000))
        made_ready.append(sum(counts))
    assert made_ready[1] <= 4.5 * made_ready[0]


ONE, TWO = (TableDefinition(f"{number:032x}", "ks", "t", ()) for number in (0x0123456789ABCDEF0123456789ABCDEF, 2))
DATA = b"some bytes" + bytes.fromhex(ONE.id) + b"more" + bytes.fromhex(TWO.id)


def test_nothing_is_looked_for_until_something_changes() -> None:
    given = {ONE.id: ONE}
    force = InForce(given)
    for _ in range(2):
        (whole,) = force.reading(DATA, 0, len(DATA))
        assert whole is given


def test_ids_are_looked_for_in_the_entries_alone() -> None:
    force = InForce({ONE.id: ONE})
    list(force.reading(DATA, 0, 1))
    force.change({TWO.id: TWO})
    assert list(force.reading(DATA, 0, 30)) == [{TWO.id: TWO}, {ONE.id: ONE}]
    assert list(force.reading(DATA, 30, len(DATA))) == [{TWO.id: TWO}]
    assert list(force.reading(DATA, 0, len(DATA))) == [{ONE.id: ONE, TWO.id: TWO}]
    assert list(force.reading(DATA, 3, 9)) == [{}]


def test_a_long_run_is_read_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_force, "FEW_BYTES_A_TABLE", 10)
    force = InForce({ONE.id: ONE})
    list(force.reading(DATA, 0, 1))
    force.change({TWO.id: TWO})
    (whole,) = force.reading(DATA, 0, 21)
    assert whole == {ONE.id: ONE, TWO.id: TWO}
    force.change({TWO.id: msgspec.structs.replace(TWO, dropped=True)})
    assert whole[TWO.id] is TWO, "who holds it still reads by it"


def test_the_first_entries_are_read_by_all_even_behind_a_change() -> None:
    force = InForce({ONE.id: ONE})
    force.change({TWO.id: TWO})
    assert list(force.reading(DATA, 3, 9)) == [{ONE.id: ONE, TWO.id: TWO}]


@pytest.mark.parametrize("few", [FEW, WHOLE])
def test_a_definition_that_cannot_be_used_is_told_at_the_first_entry_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """Also where that is of another table."""
    monkeypatch.setattr(in_force, "FEW_BYTES_A_TABLE", few)
    good, key = made(1), Column("k", "partition_key", "int", 0)
    bad = Table(made(2).id, "shop", "bad", (key, Column("v", "regular", "frozen<nothing")))
    payloads = [create_table(good, TS), insert(good, 1, "a", 1), create_table(bad, TS + 1), insert(good, 2, "b", 2)]
    folder = folder_of(tmp_path / "cdc_raw", [encode_mutation(each) for each in payloads], 1000)
    with pytest.raises(DefinitionError, match="nothing") as caught:
        read(folder)
    writer = SegmentWriter(SEGMENT)
    places = writer.section(encode_mutation(each) for each in payloads).entries
    assert caught.value.at == Position(SEGMENT, places[3].start)
