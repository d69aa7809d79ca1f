"""Segments that appeared below others: with which definitions they begin, and what counts inside them."""

from __future__ import annotations

import pytest

from tailer.definitions.at_spans import DefinitionsAtSpans
from tailer.definitions.history import DefinitionHistory
from tailer.planning.appeared import in_its_place
from tailer.position import Position, Span
from tailer.state.journal_records import AnyRecord, AppearedRecord, SchemaRecord
from tests.unit.schema.made import ID_A, SIMPLE, column, create, data, heading

HIGH, LOW = 70, 7
CREATE = SchemaRecord(n=1, at=Position(HIGH, 100), source="log", deltas=tuple(create("t", ID_A, 10, SIMPLE)))
WIDER = (column("t", "w", data("int"), 20), heading("t", ID_A, 20))
WIDEST = (column("t", "x", data("int"), 30), heading("t", ID_A, 30))
APPEARED = [AppearedRecord(n=8, segment=segment, behind=HIGH, end=None) for segment in (LOW, LOW + 1)]
INSIDE = {
    "met behind the planner": SchemaRecord(
        n=2, at=Position(HIGH, 500), source="log", deltas=WIDER, found=Position(LOW, 300)
    ),
    "met in its turn, by another consumer": SchemaRecord(n=2, at=Position(LOW, 300), source="log", deltas=WIDER),
}


def widths(records: list[AnyRecord], segment: int, *edges: int) -> list[int]:
    """How many columns the table has behind each offset of a segment."""
    history = DefinitionHistory(records)
    found = DefinitionsAtSpans(history).of(Span(segment, edges[0], edges[-1], edges[0], edges[0], edges[-1]))
    told = {edges[0]: len(found.valid[ID_A].columns)} if ID_A in found.valid else {}
    for change in found.changes:
        told[change.end] = len(change.definitions[ID_A].columns)
    return [told[max(end for end in told if end <= edge)] for edge in edges]


@pytest.mark.parametrize("inside", INSIDE)
def test_a_change_inside_it_counts_from_there(inside: str) -> None:
    records = [CREATE, INSIDE[inside], *APPEARED]
    assert widths(records, LOW, 28, 200, 299, 300, 400) == [2, 2, 2, 3, 3]
    assert widths(records, LOW, 300, 400) == [3, 3]
    assert widths(records, LOW + 1, 28, 400) == [3, 3], "the next one stands behind it"
    assert widths([CREATE, *APPEARED], LOW, 28, 400) == [2, 2]


@pytest.mark.parametrize("inside", INSIDE)
def test_what_stands_in_a_later_one_does_not_count_before(inside: str) -> None:
    later = SchemaRecord(n=3, at=Position(HIGH, 500), source="log", deltas=WIDEST, found=Position(LOW + 1, 100))
    records = [CREATE, INSIDE[inside], later, *APPEARED]
    assert widths(records, LOW, 28, 400) == [2, 3]
    assert widths(records, LOW + 1, 28, 99, 100) == [3, 3, 4]


def test_a_response_that_has_what_stands_in_a_later_one_does_not_count_before() -> None:
    """Another consumer asked its server when it had read the later segment, and stood behind all others."""
    later = SchemaRecord(n=2, at=Position(HIGH, 500), source="log", deltas=WIDER, found=Position(LOW + 1, 100))
    rows = (*create("t", ID_A, 10, SIMPLE), *WIDER)
    response = SchemaRecord(n=3, at=Position(HIGH, 500), source="server n1", deltas=rows, asked=40)
    records = [CREATE, later, response, *APPEARED]
    assert widths(records, LOW, 28, 400) == [2, 2]
    assert widths(records, LOW + 1, 28, 99, 100) == [2, 2, 3]
    assert widths(records, HIGH + 1, 28, 400) == [3, 3]
    made = DefinitionHistory(records).versions_of(ID_A)
    found = [len(held.columns) for place, held in made if place <= Position(LOW, 400)]
    assert found[-1] == 2


@pytest.mark.parametrize("inside", INSIDE)
def test_the_versions_of_a_table_by_place(inside: str) -> None:
    made = DefinitionHistory([CREATE, INSIDE[inside], *APPEARED]).versions_of(ID_A)
    at = [Position(LOW, 0), Position(LOW, 299), Position(LOW, 300), Position(LOW + 1, 50), Position(HIGH, 400)]
    found = [[len(held.columns) for place, held in made if place <= each][-1] for each in at]
    assert found == [2, 2, 3, 3, 2]


def test_what_the_state_had_met_before_keeps_its_place() -> None:
    """CREATE and ADD stand in two segments that were linked again: a consumer was asked about both."""
    made = SchemaRecord(n=1, at=Position(LOW, 100), source="log", deltas=tuple(create("t", ID_A, 10, SIMPLE)))
    wider = SchemaRecord(n=2, at=Position(LOW + 1, 300), source="log", deltas=WIDER)
    asked = [AppearedRecord(n=8, segment=each, behind=in_its_place(each), end=None) for each in (LOW, LOW + 1)]
    records = [made, wider, *asked]
    assert widths(records, LOW, 100, 400) == [2, 2]
    assert widths(records, LOW + 1, 28, 299, 300) == [2, 2, 3]
    assert widths(records, HIGH, 28, 400) == [3, 3]


@pytest.mark.parametrize("inside", INSIDE)
def test_it_does_not_count_in_what_stands_before_and_is_read_later(inside: str) -> None:
    """A consumer that lags was told to read the segment: it does so at once, and is at 70:500 by then."""
    records = [CREATE, INSIDE[inside], *(AppearedRecord(n=8, segment=LOW, behind=HIGH + 1, end=None),)]
    assert widths(records, LOW, 28, 299, 300, 400) == [2, 2, 3, 3]
    assert widths(records, HIGH, 400, 500, 600) == [2, 2, 2]
    assert widths(records, HIGH + 1, 28, 400) == [2, 2]
    assert widths(records, HIGH + 2, 28, 400) == [3, 3]
