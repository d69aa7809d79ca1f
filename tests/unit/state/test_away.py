"""What a process that holds a consumer says of a target that is away, and for how long that counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailer.errors import RefusedError
from tailer.sinks.outlet import TargetAwayError
from tailer.state.away import Away, AwayNote
from tailer.state.consumer import Consumer
from tailer.state.consumers import lock_path, take_consumer, target_away

GONE = TargetAwayError("table t of db on h: connection refused")


def note(state: Path, *times: float) -> AwayNote:
    lock = take_consumer(state, "c")
    return AwayNote(lock, lock_path(state, "c"), iter(times).__next__)


def test_it_is_told_from_the_first_failure_on_until_the_target_is_there(tmp_path: Path) -> None:
    made = note(tmp_path, 7.0, 9.0)
    assert target_away(tmp_path, "c") is None
    made.tell(GONE)
    made.tell(TargetAwayError("another reason"))
    assert target_away(tmp_path, "c") == Away(7.0, "another reason.")
    made.tell(None)
    assert target_away(tmp_path, "c") is None
    made.tell(GONE)
    assert target_away(tmp_path, "c") == Away(9.0, GONE.sentence())


def test_who_is_gone_says_nothing(tmp_path: Path) -> None:
    consumer = Consumer(tmp_path, "c", lock_seconds=0)
    consumer.away.tell(GONE)
    consumer.close()
    assert target_away(tmp_path, "c") is None
    again = Consumer(tmp_path, "c", lock_seconds=0)
    assert target_away(tmp_path, "c") is None
    again.close()


def test_who_asks_for_the_name_is_told_who_has_it(tmp_path: Path) -> None:
    note(tmp_path, 7.0).tell(GONE)
    with pytest.raises(RefusedError, match=r"in use by process \d+ on [^:]+ \("):
        take_consumer(tmp_path, "c", 0)


@pytest.mark.parametrize("written", ["", '{"since":1', "\xff\xfe", "[]"])
def test_a_line_that_is_not_whole_is_none(tmp_path: Path, written: str) -> None:
    held = note(tmp_path, 7.0)
    lock_path(tmp_path, "c").write_bytes(b"process 1 on h\n" + written.encode("latin-1"))
    assert target_away(tmp_path, "c") is None
    held.tell(GONE)
    assert lock_path(tmp_path, "c").read_bytes().startswith(b'process 1 on h\n{"since":7.0,')


def test_a_long_error_is_cut(tmp_path: Path) -> None:
    note(tmp_path, 7.0).tell(TargetAwayError("\x01é" * 5000))
    found = target_away(tmp_path, "c")
    assert found is not None
    assert len(found.error) == 500
    assert lock_path(tmp_path, "c").stat().st_size < 4000
