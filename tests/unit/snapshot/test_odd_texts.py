"""Texts that UTF-8 refuses, as a server sends them: the state has what the log's change rows give it."""

from __future__ import annotations

from tailer.images.facts import Fact
from tailer.rebuild.changes import row_key
from tailer.rebuild.table import Table, plan_of
from tailer.snapshot.row import RowReader
from tailer.snapshot.wanted import wanted_of
from tailer.types.parts import framed
from tests.helpers.odd_texts import BYTES, KEYS, READ, TABLE
from tests.unit.rows.typed.scanned import definition_of

PLAN = plan_of(Table.of(definition_of(TABLE)))
SECOND = 1_800_000_000


def counted(*parts: bytes) -> bytes:
    return len(parts).to_bytes(4, "big") + framed(parts)


def values(text: bytes) -> dict[str, bytes]:
    """The data columns of a row, all of the same bytes."""
    frozen = (1).to_bytes(4, "big") + framed([text, counted(text)])
    pair = (1).to_bytes(4, "big") + framed([text, text])
    return {"v": text, "l": counted(text), "s": counted(text), "m": pair, "f": frozen}


def replaced_in(text: bytes) -> dict[tuple[str, str], int]:
    """Of which columns a notice tells: a half of a surrogate pair is no character, and a set's elements are keys."""
    return {("ks.odd", name): 1 for name in "vlmf"} if text == BYTES[2] else {}


def test_rows_of_a_snapshot() -> None:
    wanted = wanted_of(PLAN, "4.1.0")
    for text, key, read in zip(BYTES, KEYS, READ, strict=True):
        row: list[bytes | None] = [None] * len(wanted.texts)
        row[0] = text
        for column in wanted.regular:
            row[column.value] = values(text)[column.column.name]
        reader = RowReader(PLAN, wanted)
        (served,) = reader.rows([row], SECOND, 0)
        assert reader.replaced == replaced_in(text)
        assert (served.key, served.clustering) == row_key(PLAN, f'{{"c":"{key}"}}'.replace("\0", "\\u0000"))
        facts = {fact.column: fact for fact in served.facts if isinstance(fact, Fact)}
        usual = read.encode()
        assert (facts["v"].value, facts["l"].value) == (usual, usual)
        assert facts["s"].path == text
        assert (facts["m"].path, facts["m"].value) == (text, usual)
        assert facts["f"].value == (1).to_bytes(4, "big") + framed([text, counted(usual)])
