"""Rows of which the state is wrong, by what a server has: the image of each, and what comes later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tailer.errors import CdcError, RefusedError
from tailer.image_state import mend_requests
from tailer.image_state.mend_requests import MendRow
from tailer.images.questions import Question
from tailer.images.served import Answer, EventIds
from tailer.images.served_changes import served_rows
from tailer.rebuild.changes import row_place
from tailer.rebuild.table import plan_of
from tests.unit.images.told import ID, SECOND, START, State, change, insert, now, update


def mended(state: State, *rows: dict[str, Any], until: int = 5, k: int = 1) -> list[tuple[Any, ...]]:
    """The row (k, 1) is asked for, and the server has these rows at second `until`."""
    known = state.merger.table(ID)
    assert known is not None
    plan = plan_of(known.facts.table)
    partition, row = row_place(plan, f'{{"k":{k}}}', '{"x":1}')
    state.merger.questions.ask(Question(ID, partition, row, mends=True), START // SECOND)
    (asked,) = state.merger.questions.open()
    answer = Answer(START + until * SECOND, True, (), EventIds("snapshot:again:1:"))
    found = served_rows(rows, plan).get(partition, {})
    images = state.merger.answered(asked, found, answer, now(until + 1))
    return [(image.op, image.before, image.after, image.complete) for image in images]


def open_rows(state: State) -> int:
    return len(list(state.merger.questions.open()))


def test_a_row_that_the_server_does_not_have_is_deleted_and_stays_so() -> None:
    """It was deleted with a timestamp of the future before the snapshot; then written, which the server keeps void."""
    state = State(whole=True)
    write = insert(START + 10, v=5)
    state.tell(write)
    assert mended(state) == [("delete", '{"k":1,"x":1,"v":5,"w":null}', None, True)]
    assert open_rows(state) == 0
    # The same write by another node's log; a later one raises it again, for nobody can tell.
    assert state.tell({**write, "node": "b"}, at=8) == []
    assert [image.op for image in state.tell(insert(START + 20, v=6), at=9)] == ["insert"]


def test_values_that_differ_are_the_servers() -> None:
    state = State(whole=True)
    state.tell(insert(START + 10, v=5, w=1))
    shown = change("snapshot", START + 7, columns={"v": 4})
    assert mended(state, shown) == [("update", '{"k":1,"x":1,"v":5,"w":1}', '{"k":1,"x":1,"v":4,"w":null}', True)]
    assert state.tell({**insert(START + 10, w=1), "node": "b"}, at=8)[-1:] != []


def test_a_row_that_the_state_lacks_is_there() -> None:
    state = State(whole=True)
    assert mended(state, change("snapshot", START + 7, columns={"v": 4, "w": 2})) == [
        ("insert", None, '{"k":1,"x":1,"v":4,"w":2}', True)
    ]


def test_a_response_that_is_older_than_what_was_merged_is_asked_for_again() -> None:
    state = State(whole=True)
    state.tell(insert(START + 10, v=5))
    state.tell(update(START + 11, v=6), at=7)
    assert mended(state) == []
    assert open_rows(state) == 1


def test_the_state_is_not_touched_where_both_agree() -> None:
    state = State(whole=True)
    state.tell(insert(START + 10, v=5, w=1))
    assert mended(state, change("snapshot", START + 10, columns={"v": 5, "w": 1})) == []
    assert state.tell({**insert(START + 10, v=5, w=1), "node": "b"}, at=8) == []


def test_a_request_is_a_file_that_is_checked(tmp_path: Path) -> None:
    rows = (MendRow(b"\x00p", b"\x01r", b"\x00\x00\x00\x04"), MendRow(b"\xff", b"", b""))
    mend_requests.leave(tmp_path, ID, rows)
    mend_requests.leave(tmp_path, ID, rows[:1])
    found = sorted(len(request.rows) for _, request in mend_requests.requests(tmp_path))
    assert found == [1, 2]
    path, request = next(mend_requests.requests(tmp_path))
    assert request.table_id == ID
    assert set(request.rows) <= set(rows)
    path.write_bytes(path.read_bytes().replace(b'"v":1', b'"v":2'))
    with pytest.raises(RefusedError, match="is damaged") as caught:
        list(mend_requests.requests(tmp_path))
    assert "compare --mend" in caught.value.sentence()
    mend_requests.remove(path)
    assert len(list(mend_requests.requests(tmp_path))) == 1


def test_a_request_that_cannot_be_written_is_a_documented_error(tmp_path: Path) -> None:
    folder = tmp_path / "no folder"
    folder.write_bytes(b"")
    with pytest.raises(CdcError, match="cannot write the state"):
        mend_requests.leave(folder, ID, (MendRow(b"p", b"r", b""),))
