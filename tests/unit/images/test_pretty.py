"""Images as people see them: what a column was and is, and what of it is not known."""

from __future__ import annotations

import io

import pytest

from tailer.images.image_rows import ImageRows
from tailer.images.pretty import PrettyImages
from tailer.schema.model import Column
from tests.unit.images.told import DATA, START, State, definition, delete, insert, now, update


def pretty(state: State, *changes: dict[str, object]) -> str:
    out = io.BytesIO()
    sink = PrettyImages(out, colour=False, columns=200)
    sink.write(ImageRows(state.tell(*changes)))
    return " ".join(out.getvalue().decode().split("UTC ──")[-1].split())


@pytest.mark.parametrize("whole", [True, False])
def test_what_a_column_was_and_is(whole: bool) -> None:
    state = State(whole=whole)
    first, then, gone = (
        pretty(state, each) for each in (insert(START + 1, v=1), update(START + 2, v=2, w=5), delete(START + 3))
    )
    unknown = "" if whole else " (not known whole)"
    assert f"{'insert' if whole else 'upsert'} ks.t k=1 x=1 v={'∅' if whole else '?'} → 1{unknown} #" in first
    assert f"update ks.t k=1 x=1 v=1 → 2 w={'null' if whole else '?'} → 5{unknown} #" in then
    # Of what is gone nothing is left, whatever it was.
    assert "delete ks.t k=1 x=1 v=2 → ∅ w=5 → ∅ " in gone


def test_a_definition_names_its_columns_alone() -> None:
    out = io.BytesIO()
    images = State().define(definition(*DATA, Column("y", "regular", "int")), at=2)
    PrettyImages(out, colour=False, columns=200).write(ImageRows(images))
    assert out.getvalue().decode().split()[:5] == ["-", "schema", "ks.t", "y", "(not"]


def test_a_row_of_which_nothing_is_known_goes() -> None:
    assert "delete ks.t k=1 x=1 v=? → ∅ w=? → ∅ #" in pretty(State(), delete(now(1)))
