"""Years of service in a folder: what lies behind a follower, or beside it, so many times. Written directly, not lived.

Each case gives the folder of a log in which one segment still grows, its consumer standing at that segment's end, and a
state folder as it is when `clean` has run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

from tailer.position import Position
from tailer.retention.clean import clean
from tailer.retention.needed import Ages
from tailer.schema.rows import put
from tailer.state.cleaned import CleanedFile, write_cleaned
from tailer.state.consumer import Consumer
from tailer.state.consumers import NodeState
from tailer.state.folder_journal import FolderJournal
from tailer.state.ids import Ids
from tailer.state.journal_records import AnyRecord, SchemaRecord, SegmentEndRecord
from tailer.state.log_folder import state_folder
from tailer.state.modes import make_folder
from tailer.state.offset import Memory, NodeOffset
from tests.benchmarks.single_rows import GrowingSegment, Material

CONSUMER = "growth"
AT_ONCE = Ages(0.0, 0.0)
HOUR_SECONDS = 3600.0

Case = Callable[[Path, Material, int], GrowingSegment]


def past_segments(parent: Path, material: Material, size: int) -> GrowingSegment:
    """Segments that were read to their ends and deleted: 3 s each of a node that writes 10 MB/s."""
    growing = GrowingSegment(parent, material)
    _stand_behind(growing, material, size, _end)
    return _cleaned(growing)


def tables(parent: Path, material: Material, size: int) -> GrowingSegment:
    """Tables that there are, of which one is written to."""
    growing = GrowingSegment(parent, material)
    _journal(growing, (_create(material.segment - 1, number) for number in range(size)))
    _stand(growing, material, Memory(start=material.segment - 1))
    return growing


def present_segments(parent: Path, material: Material, size: int) -> GrowingSegment:
    """Finished segments that lie in the folder, because some other consumer needs them still."""
    growing = GrowingSegment(parent, material, size)
    _stand_behind(growing, material, size, _end)
    return growing


def definition_changes(parent: Path, material: Material, size: int) -> GrowingSegment:
    """ALTERs of one table, each in a segment that is gone."""
    growing = GrowingSegment(parent, material)
    _stand_behind(growing, material, size, _alter)
    return _cleaned(growing)


def gaps(parent: Path, material: Material, size: int) -> GrowingSegment:
    """Jumps of the ids, each a restart of the server: nobody has seen what would have lain there."""
    growing = GrowingSegment(parent, material)
    first = material.segment - 3 * size
    holes = Ids((segment + 1, segment + 2) for segment in range(first, material.segment, 3))
    read = Ids.of(range(first, material.segment, 3))
    make_folder(state_folder(growing.folder))
    write_cleaned(state_folder(growing.folder), CleanedFile(segments=read))
    _stand(growing, material, Memory(start=first, holes=holes))
    return _cleaned(growing)


CASES: dict[str, Case] = {
    "past segments": past_segments,
    "present segments": present_segments,
    "tables": tables,
    "definition changes": definition_changes,
    "gaps": gaps,
}


def _end(segment: int) -> SegmentEndRecord:
    return SegmentEndRecord(segment=segment, published=40, end=40, finished="completed")


def _alter(segment: int) -> SchemaRecord:
    row = put("columns", "past", ["altered", "v"], {"kind": "regular", "type": "text", "position": -1}, segment)
    heading = put("tables", "past", ["altered"], {"id": "0f" * 16, "cdc": True}, segment)
    return SchemaRecord(at=Position(segment, 100), source="log", deltas=(row, heading))


def _create(segment: int, number: int) -> SchemaRecord:
    name = f"table{number}"
    key = put("columns", "present", [name, "k"], {"kind": "partition_key", "type": "text", "position": 0}, 1)
    heading = put("tables", "present", [name], {"id": f"{number:032x}", "cdc": True}, 1)
    return SchemaRecord(at=Position(segment, 100 + number), source="log", deltas=(key, heading))


def _journal(growing: GrowingSegment, records: Iterator[AnyRecord]) -> None:
    journal = FolderJournal(state_folder(growing.folder))
    while some := list(islice(records, 10_000)):
        journal.append(some)


def _stand_behind(growing: GrowingSegment, material: Material, size: int, record: Callable[[int], AnyRecord]) -> None:
    """The consumer has read that many segments, of each of which there is this record."""
    first = material.segment - size
    _journal(growing, (record(segment) for segment in range(first, material.segment)))
    _stand(growing, material, Memory(start=first))


def _stand(growing: GrowingSegment, material: Material, memory: Memory) -> None:
    """The consumer is about to read the segment that grows."""
    with closing(Consumer(state_folder(growing.folder), CONSUMER)) as consumer:
        offset = consumer.journal.stamped(NodeOffset(0, material.segment, 0, False))
        state = NodeState(offset, memory, restart=(offset.s, 0))
        consumer.save("local", state, moved=time.time(), program="growth")


def _cleaned(growing: GrowingSegment) -> GrowingSegment:
    growing.publish()
    clean(growing.folder, ages=AT_ONCE, clock=lambda: time.time() + HOUR_SECONDS)
    return growing
