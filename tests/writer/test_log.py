"""A log as a plain reader sees it: names, header, sections, records, sidecars, roll-over, close, opening again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tailer.errors import RefusedError, UsageError
from tailer.framing.section import Stop
from tailer.framing.sidecar import Sidecar
from tailer.position import Position
from tailer.scan.record.record import Change, Definition, State, decode_position
from tests.writer.plain import ORDERS, PLAIN, Clock, kinds, read_segment, segments, sidecars, until
from tests.writer.small_log import order, small
from writer_hooks import Column, Table, batch, group, periodic


def ids(records: list[tuple[Position, Any]]) -> list[int]:
    changes = [record for _, record in records if isinstance(record, Change)]
    return [int.from_bytes(row.partition_key[0], "big") for change in changes for row in change.rows]


def test_a_sync_of_nothing_returns(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        log.sync()
        assert log.end == Position(0, 0)
        log.append(order(1)).wait()
        end = log.end
    with small(tmp_path) as log:
        log.sync()
        assert log.end == end


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_a_plain_reader_sees_what_was_written(tmp_path: Path, compression: Any) -> None:
    with small(tmp_path, compression=compression, token=lambda: "0123456789abcdef") as log:
        first = log.append(order(1))
        log.append(order(2))
        log.sync()
        second = log.append(order(3, size=500))
        second.wait()
        assert first.done
        assert second.done
        live = sidecars(tmp_path / "cdc_raw")
    (segment,) = segments(tmp_path / "cdc_raw")
    assert (segment.header.version, segment.header.payload) == (7, "msgpack")
    assert segment.header.parameters["boot"] == "0123456789abcdef"
    assert (
        segment.header.parameters.get("compressionClass")
        == {
            None: None,
            "lz4": "LZ4Compressor",
            "zstd": "ZstdCompressor",
        }[compression]
    )
    assert kinds(segment) == ["Definition", "Change", "Change", "State", "Change", "State"]
    assert ids(segment.records) == [1, 2, 3]
    number, start, end = segment.header.segment, segment.edges[0], segment.edges[-1]
    assert live == {number: Sidecar(end, False, start, Position(number, end))}
    assert sidecars(tmp_path / "cdc_raw") == {number: Sidecar(end, True, start, Position(number, end))}
    assert segment.stop is Stop.END_OF_FILE
    assert (tmp_path / "commitlog" / f"CommitLog-7-{number}.log").samefile(
        tmp_path / "cdc_raw" / f"CommitLog-7-{number}.log"
    )


def test_a_section_ends_with_its_state(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        log.append(order(1)).wait()
        log.append(order(2)).wait()
    (segment,) = segments(tmp_path / "cdc_raw")
    states = [record for _, record in segment.records if isinstance(record, State)]
    ends = [Position(segment.header.segment, edge) for edge in segment.edges[1:]]
    assert [decode_position(state.restart) for state in states] == ends
    assert [decode_position(state.restart_any) for state in states] == ends


def test_a_ticket_tells_where_its_entry_ends(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        tickets = [log.append(order(number)) for number in range(3)]
        log.sync()
        end = log.end
    (segment,) = segments(tmp_path / "cdc_raw")
    begins = [at.offset for at, record in segment.records if isinstance(record, Change | State)]
    assert [ticket.position.offset for ticket in tickets] == begins[1:4]
    assert end == Position(segment.header.segment, segment.edges[-1])


def test_the_file_is_full_of_zeros_until_it_ends(tmp_path: Path) -> None:
    log = small(tmp_path)
    log.append(order(1)).wait()
    (path,) = (tmp_path / "cdc_raw").glob("*.log")
    live = read_segment(path)
    assert (live.stop, live.size) == (Stop.ZERO, 4096)
    log.close()
    assert read_segment(path).size == live.edges[-1]


def test_a_definition_stands_once_in_each_segment_before_the_first_row(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        for number in range(6):
            log.append(order(number, size=1500))
            log.append(PLAIN.insert({"id": number, "note": ""}))
    found = segments(tmp_path / "cdc_raw")
    assert len(found) == 3
    for segment in found:
        definitions = [record.fingerprint for _, record in segment.records if isinstance(record, Definition)]
        assert sorted(definitions) == sorted([ORDERS.fp, PLAIN.fp])
        seen: set[bytes] = set()
        for _, record in segment.records:
            if isinstance(record, Definition):
                seen.add(record.fingerprint)
            elif isinstance(record, Change):
                assert record.fingerprint in seen


def test_a_changed_definition_is_written_before_its_first_row(tmp_path: Path) -> None:
    columns = [Column("id", "bigint", "partition_key"), Column("note", "text"), Column("more", "int")]
    changed = Table("shop.orders", columns)
    with small(tmp_path) as log:
        for table in (ORDERS, changed, ORDERS, changed):
            log.append(table.insert({"id": 1}))
    (segment,) = segments(tmp_path / "cdc_raw")
    assert kinds(segment) == ["Definition", "Change", "Definition", "Change", "Change", "Change", "State"]


def test_min_is_the_section_of_the_first_tracked_record(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        log.append(PLAIN.insert({"id": 1, "note": ""})).wait()
        assert sidecars(tmp_path / "cdc_raw") == {}
        log.append(order(1)).wait()
        log.append(order(2)).wait()
    (segment,) = segments(tmp_path / "cdc_raw")
    (sidecar,) = sidecars(tmp_path / "cdc_raw").values()
    assert sidecar is not None
    assert sidecar.first == segment.edges[1]


def test_a_segment_without_tracked_records_leaves_the_readers_folder(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        log.append(PLAIN.insert({"id": 1, "note": ""})).wait()
    assert segments(tmp_path / "cdc_raw") == []
    assert sidecars(tmp_path / "cdc_raw") == {}
    assert len(segments(tmp_path / "commitlog")) == 1


def test_ids_go_up_over_opens_also_when_the_clock_steps_back(tmp_path: Path) -> None:
    for now in (2_000_000_000_000_000, 1_000_000_000_000_000, 0):
        with small(tmp_path, wall=lambda now=now: now) as log:
            for number in range(3):
                log.append(order(number, size=1500))
    found = [segment.header.segment for segment in segments(tmp_path / "cdc_raw")]
    assert found[0] == 2_000_000_000_001
    assert len(found) == 6
    assert len(set(found)) == 6


def test_timestamps_go_up_also_when_the_clock_stands(tmp_path: Path) -> None:
    with small(tmp_path, wall=lambda: 5) as log:
        for number in range(3):
            log.append(order(number))
    (segment,) = segments(tmp_path / "cdc_raw")
    assert [record.write_ts for _, record in segment.records if isinstance(record, Change)] == [5, 6, 7]


def test_an_old_segment_ends_without_another_change(tmp_path: Path) -> None:
    clock = Clock()
    with small(tmp_path, clock=clock, max_age=60) as log:
        log.append(PLAIN.insert({"id": 1, "note": ""})).wait()
        clock.now += 100
        log.sync()
        assert log.stats().segments == 1
        log.append(order(1)).wait()
        clock.now += 59
        log.sync()
        assert log.stats().segments == 1
        clock.now += 1
        log.sync()
        assert log.stats().segments == 2
        assert [sidecar and sidecar.completed for sidecar in sidecars(tmp_path / "cdc_raw").values()] == [True]


def test_opened_and_closed_leaves_no_segment(tmp_path: Path) -> None:
    for threads in (False, True):
        small(tmp_path, threads=threads).close()
    assert list((tmp_path / "cdc_raw").iterdir()) == []
    assert {path.name for path in (tmp_path / "commitlog").iterdir()} == {"HIGH", "LOCK"}


@pytest.mark.parametrize("sync", [batch(), group(1), periodic(1)], ids=lambda policy: policy.kind)
def test_threads_do_the_same(tmp_path: Path, sync: Any) -> None:
    with small(tmp_path, threads=True, sync=sync, publish_ms=0) as log:
        for number in range(10):
            ticket = log.append(order(number, size=1500))
            ticket.wait(20)
        until(lambda: any(sidecar and not sidecar.completed for sidecar in sidecars(tmp_path / "cdc_raw").values()))
    found = segments(tmp_path / "cdc_raw")
    assert [number for segment in found for number in ids(segment.records)] == list(range(10))
    done = {segment: sidecar and sidecar.completed for segment, sidecar in sidecars(tmp_path / "cdc_raw").items()}
    assert done == {segment.header.segment: True for segment in found}


def test_bytes_that_nobody_waits_for_are_synced_soon(tmp_path: Path) -> None:
    with small(tmp_path, threads=True) as log:
        ticket = log.append(order(1))
        until(lambda: ticket.done)


def test_options_are_checked(tmp_path: Path) -> None:
    for wrong in ({"segment_bytes": 10}, {"compression": "rar"}, {"max_age": 0}, {"publish_ms": -1}):
        with pytest.raises(UsageError):
            small(tmp_path, **wrong)


def test_too_large_a_change_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        for size in (1985, 5000):
            with pytest.raises(UsageError, match="too large"):
                log.append(order(1, size=size))
        log.append(order(2)).wait()
        with pytest.raises(UsageError, match="too large"):
            log.append(order(3, size=1985))
    (segment,) = segments(tmp_path / "cdc_raw")
    assert ids(segment.records) == [2]


def test_hooks_get_each_section_after_its_fsync(tmp_path: Path) -> None:
    fed: list[Any] = []
    with small(tmp_path) as log:
        log.hooks.append(fed.append)
        tickets = [log.append(order(number, size=1500)) for number in range(4)]
        log.sync()
        assert all(ticket.done for ticket in tickets)
    assert fed[0].prev == Position(0, 0)
    assert [section.prev for section in fed[1:]] == [section.end for section in fed[:-1]]
    found = segments(tmp_path / "cdc_raw")
    assert [section.end.offset for section in fed] == [edge for segment in found for edge in segment.edges[1:]]
    path = tmp_path / "cdc_raw" / f"CommitLog-7-{fed[0].start.segment}.log"
    assert path.read_bytes()[fed[0].at + 8 : fed[0].next_at] == fed[0].data


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with small(tmp_path), pytest.raises(RefusedError, match="another writer"):
        small(tmp_path)
    small(tmp_path).close()
