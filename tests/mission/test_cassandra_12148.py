"""CASSANDRA-12148: a segment can be read while it is written, as far as it is durable."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tailer.retention.clean import clean
from tailer.retention.needed import Ages
from tests.helpers.log_writer import (
    LogFolder,
    create_payload,
    insert_payload,
    live,
    restarted,
    segment_of,
    simple_table,
)
from tests.mission.shop import NOTES, ORDERS, Order, idx_files, numbers, opened, rows, write

FIRST = 1_700_000_000_001


def test_a_segment_is_hard_linked_when_it_is_created(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        log.append(ORDERS.insert(Order(1)))
        (link,) = (tmp_path / "cdc_raw").glob("*.log")
        own = tmp_path / "commitlog" / link.name
        assert own.stat().st_ino == link.stat().st_ino
        assert own.stat().st_nlink == 2
        assert idx_files(tmp_path) == {}, "nothing is durable yet"


def test_an_idx_file_says_from_where_to_where_a_segment_is_durable(tmp_path: Path) -> None:
    """After each fsync: the first offset that concerns readers, which never changes, and the last one."""
    with opened(tmp_path, threads=False) as log:
        found = []
        for number in range(3):
            ticket = log.append(ORDERS.insert(Order(number)))
            log.sync()
            ((segment, words),) = idx_files(tmp_path).items()
            found.append([int(word) for word in words[:2]])
            assert ticket.position.segment == segment
            assert found[-1][1] >= ticket.position.offset
    assert len({first for first, _ in found}) == 1
    assert [last for _, last in found] == sorted({last for _, last in found})


def test_the_idx_file_of_a_segment_that_has_ended_says_done(tmp_path: Path) -> None:
    with opened(tmp_path, threads=False) as log:
        write(log, 1)
        assert [len(words) for words in idx_files(tmp_path).values()] == [3]
    assert [words[-1] for words in idx_files(tmp_path).values()] == ["DONE"]


def test_only_durable_bytes_are_read(tmp_path: Path) -> None:
    """Bytes of Cassandra's, by hand: the segment has two sections, and its idx file vouches for the first."""
    folder, table = LogFolder(tmp_path / "cdc_raw"), simple_table("ks", "t")
    writer = segment_of(FIRST, [[create_payload(table), insert_payload(table, 1, "a", 1)]])
    durable = live(writer)
    writer.section([insert_payload(table, 2, "a", 2)])
    folder.put(writer, durable)
    assert [row["partition_key"] for row in rows(folder.path)] == [{"pk": 1}]


def test_a_consumer_goes_on_in_the_middle_of_a_segment(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        write(log, 1, 2)
        log.sync()
        assert numbers(rows(tmp_path / "cdc_raw", "--consumer", "c")) == [1, 2]
        kept = json.loads((tmp_path / "cdc_raw.cdc_tail" / "consumers" / "c.json").read_text())
        offset = kept["nodes"]["local"]["offset"]
        assert (offset["o"] > 0, offset["done"]) == (True, False)
        write(log, 3)
        log.sync()
        assert numbers(rows(tmp_path / "cdc_raw", "--consumer", "c")) == [3]


def test_reading_begins_at_the_first_captured_change(tmp_path: Path) -> None:
    """What lies before it concerns nobody: a byte of it that is not what was written does no harm."""
    with opened(tmp_path, segment_bytes=4 << 20) as log:
        for number in range(200):
            log.append(NOTES.insert(Order(number, "n" * 10_000)))
        log.sync()
        write(log, 1)
    ((_, words),) = idx_files(tmp_path).items()
    (file,) = (tmp_path / "cdc_raw").glob("*.log")
    data = bytearray(file.read_bytes())
    assert int(words[0]) > len(data) // 2
    data[int(words[0]) // 2] ^= 0xFF
    file.write_bytes(data)
    assert numbers(rows(tmp_path / "cdc_raw")) == [1]


def test_what_is_done_and_read_is_cleaned(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        write(log, *range(10), size=2000)
        log.sync()
        assert len(rows(tmp_path / "cdc_raw", "--consumer", "c")) == 10
        before = idx_files(tmp_path)
        done = {segment for segment, words in before.items() if words[-1] == "DONE"}
        gone = {held.segment for held in clean(tmp_path / "cdc_raw", ages=Ages(0.0, 0.0)).logs}
        assert gone
        assert gone <= done
        assert set(idx_files(tmp_path)) == set(before) - gone
        assert max(before) not in gone


def test_a_replay_writes_the_true_end(tmp_path: Path) -> None:
    """A service that is killed leaves an idx file that lags; the next open says how far the log is there, and DONE."""
    killed = f"""
import os
from pathlib import Path
from tests.mission.shop import opened, write
log = opened(Path({str(tmp_path)!r}), publish_ms=600_000)
write(log, *range(20))
print(log.end.segment, log.end.offset, flush=True)
os._exit(9)
"""
    ran = subprocess.run([sys.executable, "-c", killed], capture_output=True, text=True, check=False)
    assert ran.returncode == 9, ran.stderr
    segment, end = map(int, ran.stdout.split())
    with opened(tmp_path):
        words = idx_files(tmp_path)[segment]
    assert (int(words[1]) >= end, words[-1]) == (True, "DONE")
    assert numbers(rows(tmp_path / "cdc_raw")) == list(range(20))


def test_where_a_server_wrote_the_length_of_the_file_its_sections_decide(tmp_path: Path) -> None:
    """Cassandra's own replay writes the file's length as the end: the zeros behind the last section are no change."""
    folder, table = LogFolder(tmp_path / "cdc_raw"), simple_table("ks", "t")
    writer = segment_of(FIRST, [[create_payload(table), insert_payload(table, 1, "a", 1)]])
    writer.data += bytes(10_000)
    folder.put(writer, restarted(writer))
    assert [row["partition_key"] for row in rows(folder.path)] == [{"pk": 1}]
