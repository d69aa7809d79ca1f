"""All definitions that a folder's journal, its log, a file and a server tell now. Writes nothing, waits for nothing.

Definitions need not be durable, they only name bytes: every segment is read to its last good section, whatever its
sidecar says. Knows no form of output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from tailer.definitions.history import DefinitionHistory
from tailer.definitions.learning import Definitions
from tailer.definitions.outside import OutsideSources
from tailer.errors import CdcError
from tailer.framing.section import NoSection
from tailer.options.tail import TailOptions
from tailer.position import Position
from tailer.schema.selection import Selection
from tailer.segments.folder import LogFile
from tailer.segments.run import run_of
from tailer.segments.segment import KeySource, SegmentFile
from tailer.segments.source import Source, open_segment
from tailer.state.affected import affects
from tailer.state.journal_records import SchemaRecord, SegmentEndRecord
from tailer.state.node_log import NodeLog

Progress = Callable[[int, int], None]
"""Called with a segment and the file offset that was reached in it."""


@dataclass(slots=True)
class Learnt:
    """What is known. Records above number `journalled` are not in the journal; `retracted` ones have no effect.

    `ends`: the log ends on record. `silent`: keyspaces of which no change reaches the log now. `errors`: why a segment
    could not be read; the definitions in it are missing.
    """

    history: DefinitionHistory
    journalled: int
    retracted: Sequence[SchemaRecord]
    ends: Sequence[SegmentEndRecord]
    silent: Set[str] = frozenset()
    notices: list[str] = field(default_factory=list)
    errors: list[CdcError] = field(default_factory=list)


def _quietly(logs: Mapping[int, LogFile]) -> AbstractContextManager[Progress]:
    return nullcontext(lambda segment, at: None)


def learn(
    log: NodeLog,
    options: TailOptions,
    keys: KeySource,
    showing: Callable[[Mapping[int, LogFile]], AbstractContextManager[Progress]] = _quietly,
) -> Learnt:
    """Read the log. Of `options` those count that say where definitions come from, and whose: with a `consumer` its own
    definitions too.

    A file's and a server's count from the beginning, as at a first start. `showing`: who shows the
    progress. Raises the documented errors of these two.
    """
    journal = log.home.journal(writable=False)
    journalled = journal.count
    told = (each for each in journal.read() if each.n in journal.retracted and affects(each, options.consumer))
    retracted = [each for each in told if isinstance(each, SchemaRecord)]
    known = Definitions(journal, Selection(), tolerant=True, consumer=options.consumer)
    OutsideSources(options, known).give(None)
    learnt = Learnt(known.history, journalled, retracted, journal.segment_ends(None))
    listing = log.source.look()
    logs = listing.logs
    learnt.notices += listing.notices()
    with showing(logs) as progress:
        for segment in sorted(logs):
            _learn_file(log.source, logs[segment], keys, known, learnt, progress)
    known.learn_collected(None)
    learnt.notices += known.take_notices()
    learnt.silent = known.durability.silent
    return learnt


def _learn_file(
    source: Source, log: LogFile, keys: KeySource, known: Definitions, learnt: Learnt, progress: Progress
) -> None:
    try:
        with open_segment(source, log.name, keys) as file:
            notice = _collect(file, known, progress)
            if notice is not None:
                learnt.notices.append(f"{log.name.log}: {notice}")
    except FileNotFoundError:
        # In a live folder a segment may be deleted between the look and now.
        return
    except CdcError as error:
        learnt.errors.append(error)


def _collect(file: SegmentFile, known: Definitions, progress: Progress) -> str | None:
    """Hand on the segment's schema changes; gives what is worth a notice."""
    header = file.header()
    if header is None:
        return None
    faults = 0
    for section in file.sections(header.length, header.length):
        if isinstance(section, NoSection):
            if section.why.clean and not faults:
                return None
            until = f"definitions were read up to {Position(file.segment, section.start)}"
            left_out = f"; {faults} entries that do not check are left out" if faults else ""
            return f"{until} ({section.why.value}){left_out}"
        data, entries = file.entries(section)
        known.collect(file.segment, run_of(section, data, entries, native=header.native))
        faults += len(entries.faults)
        progress(file.segment, section.next_at)
    return None
