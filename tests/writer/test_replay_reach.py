"""How far a replay reaches: it begins where its position is, and what is missing or damaged on the way is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tailer.errors import CorruptError, LossError
from tailer.position import Position
from tests.writer.plain import ORDERS, PLAIN
from tests.writer.small_log import numbers, order, own, small
from writer_hooks import SegmentLog, own_entries
from writer_hooks.own_replay import replay
from writer_hooks.places import Places


@pytest.mark.parametrize("known", [True, False], ids=["declared at open", "not declared"])
@pytest.mark.parametrize("where", ["a section's edge", "a ticket's position", "inside a section"])
@pytest.mark.parametrize("compression", [None, "lz4"])
def test_replay_begins_at_the_section_of_its_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, known: bool, compression: Any
) -> None:
    options = {"segment_bytes": 8 << 20, "compression": compression, "threads": False}
    with SegmentLog.open(tmp_path, [ORDERS] if known else [], **options) as log:
        for section in range(100):
            for number in range(50):
                log.append(order(section * 50 + number, size=1000))
            log.sync()
        position = log.end
        ticket = log.append(order(-1))
        if where == "a ticket's position":
            log.sync()
            position, ticket = ticket.position, log.append(order(-1))
        if where == "inside a section":
            position, ticket = ticket.position, log.append(order(-1))
        log.sync()
        decoded = 0
        real = own_entries.decode_record

        def counted(*arguments: Any) -> Any:
            nonlocal decoded
            decoded += 1
            return real(*arguments)

        monkeypatch.setattr(own_entries, "decode_record", counted)
        found = list(log.replay(position))
        assert [each.position for each in found] == [ticket.position._replace(offset=found[0].position.offset)]
        assert [each.end for each in found] == [ticket.position]
        # Of 5 MB the last section is decoded, and where the table is not known the beginning of the first one.
        assert decoded < 60


def test_a_segment_that_was_deleted_by_hand_is_reported(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        for number in range(12):
            log.append(order(number, size=1500))
        log.sync()
        ids = own(tmp_path)
        assert len(ids) > 4
        middle = Places(tmp_path).own(ids[2])
        kept = middle.read_bytes()
        middle.unlink()
        for since in ("earliest", Position(ids[0], 0), Position(ids[1], 50), Position(ids[2], 50)):
            with pytest.raises(LossError, match=f"a segment.* is gone at {ids[2]}:"):
                list(log.replay(since))  # type: ignore[arg-type]
        behind = numbers(log.replay(Position(ids[3], 0)))
        assert behind == [number for number in range(12) if number >= behind[0]]
        middle.write_bytes(kept)
        assert numbers(log.replay()) == list(range(12))
        Places(tmp_path).own(ids[-1]).unlink()
        with pytest.raises(LossError, match=f"gone at {ids[-1]}:0"):
            list(log.replay())


def test_a_segment_of_a_run_before_that_was_deleted_by_hand_is_reported(tmp_path: Path) -> None:
    for run in range(3):
        with small(tmp_path) as log:
            log.append(order(run))
    first, second, third = own(tmp_path)
    with small(tmp_path) as log:
        assert numbers(log.replay()) == [0, 1, 2]
        assert log.discard_before(Position(third, 0)) == 1
        assert numbers(log.replay()) == [1, 2]
        Places(tmp_path).own(third).unlink()
        with pytest.raises(LossError, match=f"gone at {third}:0"):
            list(log.replay())
    assert first < second


@pytest.mark.parametrize("at", [0.3, 0.6, 0.95])
def test_damage_in_the_middle_is_told_and_not_taken_for_the_end(tmp_path: Path, at: float) -> None:
    with small(tmp_path) as log:
        for number in range(12):
            log.append(order(number, size=400)).wait()
        path = Places(tmp_path).own(own(tmp_path)[0])
        data = bytearray(path.read_bytes())
        place = int(len(data) * at)
        data[place] ^= 0xFF
        path.write_bytes(bytes(data))
        with pytest.raises(CorruptError, match="does not check before its end"):
            list(log.replay())


def test_a_transaction_finds_the_definitions_of_its_own_segments(tmp_path: Path) -> None:
    """Reading begins in the middle of the segment where the transaction began, and its commit is in another one."""
    with SegmentLog.open(tmp_path, [], segment_bytes=4096, threads=False) as log:
        log.append(PLAIN.insert({"id": 1, "note": ""}))
        log.append(order(2)).wait()
        transaction = log.begin()
        transaction.append(PLAIN.insert({"id": 3, "note": ""}))
        log.sync()
        since = log.end
        for number in range(4, 8):
            log.append(order(number, size=1500))
        transaction.commit().wait()
        assert numbers(log.replay(since)) == [4, 5, 6, 7, 3]
        assert numbers(replay(log._files, Places(tmp_path), since, log.end, 1)) == [4, 5, 6, 7, 3]
