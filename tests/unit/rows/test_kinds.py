"""Rows counted by keyspace, table and operation, in every form: as the server saw them, and without a look at each."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tailer.errors import DefinitionError
from tailer.options.tail import TailOptions
from tailer.rows.typed.arrays import Repeated
from tailer.rows.typed.batch import _counted
from tailer.tail.follow import steps
from tests.helpers.tails import open_tail
from tests.oracle import expected

SET = "50-cases"
ENOUGH = 8


def kinds(folder: Path, **options: Any) -> Counter[tuple[str, str, str]]:
    found: Counter[tuple[str, str, str]] = Counter()
    with open_tail(folder, TailOptions(**options), writes=False) as tail:
        for step in steps(tail, once=True, say=lambda line: None):
            for task in step.tasks:
                for batch in tail.read(task):
                    found.update(batch.kinds())
                    assert sum(batch.kinds().values()) == len(batch)
                    assert not batch.slice(0, 0).kinds()
            tail.advance(step)
    return found


def test_every_form_counts_what_the_server_saw(sets_root: Path) -> None:
    folder = sets_root / SET / "cdc_raw"
    rows = [row.data for row in expected(sets_root / SET, folder).rows]
    want = Counter((row["keyspace"], row["table"], row["op"]) for row in rows)
    assert len(want) > 10
    found = kinds(folder)
    assert {kind: count for kind, count in found.items() if kind[2] != "truncate"} == want
    compared = 0
    for name in sorted({f"{keyspace}.{table}" for keyspace, table, _ in want}):
        try:
            typed = kinds(folder, table=name, decimals="string", case_sensitive=True)
        except DefinitionError:
            # One with times that no typed column can hold.
            continue
        # Named exactly, tables give what was written while they did not capture, too.
        assert typed == kinds(folder, tables=(name,))
        compared += len(typed)
        if compared > ENOUGH:
            return
    pytest.fail(f"{compared} kinds compared")


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["insert"],
        ["insert"] * 5,
        ["insert", "update", "insert"],
        ["update", "delete_row", "update"],
        ["a", "aa", "a"],
    ],
)
def test_texts_are_counted_whole_and_in_slices(texts: list[str]) -> None:
    array, repeated = pa.array(texts, pa.string()), Repeated()
    for start in range(len(texts) + 1):
        for stop in range(start, len(texts) + 1):
            part = array.slice(start, stop - start)
            assert _counted(part, pa.field("_op", pa.string()), repeated) == Counter(texts[start:stop])
