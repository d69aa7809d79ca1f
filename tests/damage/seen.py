"""All that the framing sees of a file's bytes, without a file and without a follower: what tells damages apart.

The layers above it may know nothing else of damaged bytes (`test_log_bytes.py` states that): two damages with the same
`Seen` are the same damage to them.
"""

from __future__ import annotations

from typing import NamedTuple

from tailer.errors import CdcError, CorruptError
from tailer.framing.codec import Codec, open_codec
from tailer.framing.entry import HEAD_BYTES
from tailer.framing.forms import scan_entries_now
from tailer.framing.header import Header, decode_header
from tailer.framing.section import (
    HEAD_BYTES_MAX,
    MARKER_BYTES,
    Section,
    SectionLengthError,
    body_offset,
    later_marker,
    read_section,
)
from tailer.position import Position

GOOD = ""


class Bad(NamedTuple):
    """Bytes of a section that are no good entry: kind of fault, logical offset, length."""

    kind: str
    offset: int
    length: int


class Part(NamedTuple):
    """A section whose marker checks: what is wrong in it, and how many of its entries are good.

    `goes_on`: a later marker checks; asked for where something is wrong.
    """

    section: Section
    bad: tuple[Bad, ...] = ()
    entries: int = 0
    goes_on: bool = False


class Seen(NamedTuple):
    """The header's fault, the sections up to the first place without one, why there is none, and that place.

    `stop` is empty where nobody looks for a further section: no good header, or a section of which no length is known.
    """

    header: str
    parts: tuple[Part, ...] = ()
    stop: str = GOOD
    start: int = 0
    at: int = 0
    goes_on: bool = False

    def to_first_fault(self) -> Seen:
        """What a reader sees that does not go on behind a section with a fault."""
        first = next((number for number, part in enumerate(self.parts) if part.bad), None)
        return self if first is None else Seen(self.header, self.parts[: first + 1])

    @property
    def reached(self) -> int:
        """The logical offset up to which everything is good."""
        return next((part.bad[0].offset for part in self.parts if part.bad), self.start)


class Body(NamedTuple):
    """A section's body alone: its plain bytes (None: it does not come out right) and what they hold.

    `entries`: the good ones as (logical offset, payload). `values`: what was expected and found at each fault.
    """

    plain: bytes | None
    bad: tuple[Bad, ...]
    entries: tuple[tuple[int, bytes], ...]
    values: tuple[tuple[object, object], ...]
    length_known: bool = True


class Look(NamedTuple):
    """What is seen; and beside it the header and the bodies.

    `values`: of all faults. They are the damaged bytes' own: they stand in sentences and decide nothing.
    """

    seen: Seen
    header: Header | None = None
    bodies: tuple[Body, ...] = ()
    values: tuple[tuple[object, object], ...] = ()

    @property
    def entries(self) -> list[tuple[int, bytes]]:
        return [entry for body in self.bodies for entry in body.entries]


class Framing:
    """The framing of the log file with this name and id. Bodies met before are not decoded again: decoding is pure."""

    def __init__(self, file: str, segment: int, key: bytes) -> None:
        self._file = file
        self._segment = segment
        self._key = key
        self._bodies: dict[tuple[bytes, Section], Body] = {}

    def look(self, data: bytes) -> Look:
        """Look at these bytes instead of the file's."""
        try:
            header = decode_header(data, self._file, Position(self._segment, 0))
        except CdcError as error:
            return Look(Seen(_kind(error)), values=((error.expected, error.found),))
        if header is None:
            return Look(Seen("none, begun" if any(data) else "none"))
        codec = open_codec(header, self._key)
        parts: list[Part] = []
        bodies: list[Body] = []
        start = at = header.length
        section = read_section(data[at : at + HEAD_BYTES_MAX], header, at, start, len(data))
        while isinstance(section, Section):
            body = self._body(data[body_offset(header, section) : section.next_at], codec, section)
            bodies.append(body)
            parts.append(self._part(data, section, body))
            if not body.length_known:
                return _found(Seen(GOOD, tuple(parts)), header, bodies)
            start, at = section.end, section.next_at
            section = read_section(data[at : at + HEAD_BYTES_MAX], header, at, start, len(data))
        goes_on = not section.why.clean and self._goes_on(data, at)
        seen = Seen(GOOD, tuple(parts), section.why.value, start, at, goes_on)
        return _found(seen, header, bodies, (section.expected, section.found))

    def _body(self, data: bytes, codec: Codec, section: Section) -> Body:
        found = self._bodies.get((data, section))
        if found is None:
            found = self._bodies[data, section] = read_body(
                data, codec, section, Position(self._segment, section.start)
            )
        return found

    def _part(self, data: bytes, section: Section, body: Body) -> Part:
        goes_on = bool(body.bad) and self._goes_on(data, section.at)
        return Part(section, body.bad, len(body.entries), goes_on)

    def _goes_on(self, data: bytes, at: int) -> bool:
        return later_marker(data[at + 1 :], self._segment, at + 1, len(data)) is not None


def read_body(data: bytes, codec: Codec, section: Section, at: Position) -> Body:
    """What a section's body holds; a length that is in doubt is no known length."""
    try:
        plain = bytes(codec.decode(data, section.plain_length, at))
    except CorruptError as error:
        bad = Bad(_kind(error), section.start, section.end - section.start)
        return Body(None, (bad,), (), ((error.expected, error.found),), not isinstance(error, SectionLengthError))
    found = scan_entries_now(len(plain))(plain)
    base = section.start + MARKER_BYTES
    starts = zip(map(int, found.starts), map(int, found.sizes), strict=True)
    return Body(
        plain,
        tuple(Bad(fault.error.value, base + fault.offset, fault.length) for fault in found.faults),
        tuple((base + start - HEAD_BYTES, plain[start : start + size]) for start, size in starts),
        tuple((fault.expected, fault.found) for fault in found.faults),
    )


def _found(seen: Seen, header: Header, bodies: list[Body], *values: tuple[object, object]) -> Look:
    return Look(seen, header, tuple(bodies), (*(pair for body in bodies for pair in body.values), *values))


def _kind(error: CdcError) -> str:
    return f"{type(error).__name__}: {error.what}"
