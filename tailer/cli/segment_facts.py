"""What `inspect` tells of a segment: gathered from its name, header, section heads, sidecar and link count.

Reads markers only; entries are read in `entry_facts.py`, when they are asked for. Judges nothing: `verify` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tailer.errors import CdcError
from tailer.framing.header import Header
from tailer.framing.section import NoSection
from tailer.segments.folder import Listing, LogFile, SidecarFile
from tailer.segments.segment import SegmentFile


class SidecarFacts(msgspec.Struct, frozen=True):
    """A sidecar as it was read; `end` is null where it was empty, cut or not a number."""

    end: int | None
    completed: bool = False
    first: int | None = None
    restart: str | None = None


class SectionFacts(msgspec.Struct, frozen=True):
    """Logical `start` and `end` (the marker included), file offset, and bytes: in the file, and plain."""

    start: int
    end: int
    offset: int
    bytes: int
    plain_bytes: int


class TailFacts(msgspec.Struct, frozen=True):
    """Where the chain of sections ends, and why: logical `start`, file offset, expected and found."""

    why: str
    start: int
    offset: int
    expected: str | None = None
    found: str | None = None


class SegmentFacts(msgspec.Struct, frozen=True, tag="segment", tag_field="is"):
    """One segment. `version`, `kind`, `parameters`, `tail` are null while there is no header, or a bad one (`error`).

    `log_end` is the logical end of the last section whose marker checks, 0 without one. `links` is the file's link
    count: in a server's own folder, 2 while the server still holds the segment.
    """

    file: str
    segment: int
    bytes: int
    links: int
    sidecar: SidecarFacts | None
    version: int | None = None
    kind: str | None = None
    payload: str | None = None
    parameters: Mapping[str, Any] | None = None
    header_bytes: int = 0
    log_end: int = 0
    sections: tuple[SectionFacts, ...] = ()
    tail: TailFacts | None = None
    error: str | None = None


def segment_facts(file: SegmentFile, log: LogFile, listing: Listing) -> SegmentFacts:
    """All that can be told without reading entries. A header that is damaged or unknown stands in `error`."""
    facts = SegmentFacts(log.name.log, log.name.segment, log.size, log.links, _sidecar(listing.sidecars, log))
    try:
        header = file.header()
    except CdcError as error:
        return msgspec.structs.replace(facts, error=error.sentence())
    if header is None:
        return facts
    sections, tail = _sections(file, header)
    return msgspec.structs.replace(
        facts,
        version=header.version,
        kind=kind(header),
        payload=header.payload,
        parameters=header.parameters,
        header_bytes=header.length,
        log_end=sections[-1].end if sections else 0,
        sections=tuple(sections),
        tail=tail,
    )


def kind(header: Header) -> str:
    """`plain`, the compressor's simple name, or the cipher."""
    if header.encrypted:
        return str(header.parameters["encCipher"])
    if header.compressed:
        return str(header.parameters["compressionClass"]).rpartition(".")[2]
    return "plain"


def _sidecar(sidecars: Mapping[int, SidecarFile], log: LogFile) -> SidecarFacts | None:
    found = sidecars.get(log.name.segment)
    if found is None:
        return None
    if found.content is None:
        return SidecarFacts(None)
    content = found.content
    restart = None if content.restart is None else str(content.restart)
    return SidecarFacts(content.end, content.completed, content.first, restart)


def _sections(file: SegmentFile, header: Header) -> tuple[list[SectionFacts], TailFacts]:
    sections: list[SectionFacts] = []
    for found in file.sections(header.length, header.length):
        if isinstance(found, NoSection):
            return sections, _tail(found)
        size = found.next_at - found.at
        sections.append(SectionFacts(found.start, found.end, found.at, size, found.plain_length))
    raise AssertionError("a walk over sections ends with the reason why there is no further one")


def _tail(found: NoSection) -> TailFacts:
    if found.expected is None:
        return TailFacts(found.why.value, found.start, found.at)
    return TailFacts(found.why.value, found.start, found.at, str(found.expected), str(found.found))
