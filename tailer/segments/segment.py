"""One segment, open: its sections by walking markers, plain bytes of a section.

Bytes are asked for, never mapped: the file may grow, shrink or vanish while it is read. Judges no sidecar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tailer.errors import CorruptError, DefinitionError, SystemFailedError
from tailer.framing.codec import Codec, open_codec
from tailer.framing.entry import Entries
from tailer.framing.forms import CHECK_SHARE, scan_entries_now
from tailer.framing.header import PAYLOADS, Header, decode_header
from tailer.framing.section import HEAD_BYTES_MAX, NoSection, Section, Stop, body_offset, read_section
from tailer.jit.ready import expect
from tailer.limits import HEADER_BYTES_MAX, KIB
from tailer.position import Position
from tailer.segments.folder import SidecarFile
from tailer.segments.opened import FileStatus, Opened, OpenedFile
from tailer.segments.run_cache import RunCache, SegmentRuns

KeySource = Callable[[str], bytes | None]
"""From a key alias to the secret key, or None where no keystore was given."""

_HEADER_GUESS: Final = 512
_AHEAD_BYTES: Final = 4 * KIB
"""Read at a marker: the next ones lie in it where sections are small."""


def no_keys(alias: str) -> bytes | None:
    """The key source of a run without a keystore."""
    return None


class SegmentFile:
    """A segment that is held open: a name that is deleted meanwhile does no harm. FileNotFoundError where there is no
    regular file.

    `opened`: its file, which is this object's from now on; by default that of `path`. `runs`: where what was checked is
    kept, by default for this segment alone.
    """

    def __init__(
        self,
        path: Path,
        segment: int,
        keys: KeySource = no_keys,
        *,
        opened: Opened | None = None,
        runs: RunCache | None = None,
    ) -> None:
        self.path = path
        self.segment = segment
        self._keys = keys
        self._opened = OpenedFile(path) if opened is None else opened
        self._closed = False
        self._header: Header | None = None
        self._codec: Codec | None = None
        self._places: dict[int, int] = {}
        self._runs = RunCache() if runs is None else runs
        try:
            self.kept = self._part()
        except BaseException:
            self._opened.close()
            raise

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._opened.close()
            self.kept.close()

    def reopen(self) -> None:
        """See the file afresh (`Opened.reopen`): what was kept of it may have been stale."""
        self._opened.reopen()
        self.kept.clear()
        self.kept = self._part()

    def __enter__(self) -> SegmentFile:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _part(self) -> SegmentRuns:
        found = self.status()
        return self._runs.of(self.segment, (found.device, found.inode))

    @property
    def lasts(self) -> bool:
        """Whether it can be read for as long as it is open, also when its names are gone."""
        return self._opened.lasts

    def check_named(self) -> None:
        """FileNotFoundError where nobody else could open it by its name now."""
        self._opened.check_named()

    def status(self) -> FileStatus:
        """The file as it is now."""
        return self._opened.status()

    def sidecar(self) -> SidecarFile | None:
        """The sidecar beside it as it is now; None where there is none."""
        return self._opened.sidecar()

    def read(self, at: int, length: int) -> bytes:
        """Up to `length` bytes from file offset `at`; fewer only where the file ends."""
        parts: list[bytes] = []
        while length > 0:
            try:
                part = self._opened.read(at, length)
            except OSError as error:
                raise SystemFailedError(
                    f"cannot read the segment: {error.strerror}", at=Position(self.segment, at), file=str(self.path)
                ) from error
            if not part:
                break
            parts.append(part)
            at += len(part)
            length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def header(self) -> Header | None:
        """The header, or None while there is none yet. Raises CorruptError or DefinitionError."""
        if self._header is None:
            at = Position(self.segment, 0)
            header = decode_header(self.read(0, _HEADER_GUESS), self.path.name, at)
            if header is None:
                header = decode_header(self.read(0, HEADER_BYTES_MAX), self.path.name, at)
            if header is not None and header.segment != self.segment:
                raise CorruptError(
                    "segment id in the header",
                    at=at,
                    file=self.path.name,
                    expected=self.segment,
                    found=header.segment,
                    remedy="The file was renamed or damaged; give it back its own name.",
                )
            if header is not None and header.payload not in PAYLOADS:
                raise DefinitionError(
                    "the segment's entries are of a kind that is not read here",
                    file=self.path.name,
                    expected=f"payload {' or '.join(PAYLOADS)}",
                    found=header.payload,
                    remedy="A newer cdc-tail may read it.",
                )
            self._header = header
        return self._header

    def place(self, start: int) -> tuple[int, int]:
        """(logical offset, file offset) of the section edge at logical `start`, or of the section that holds it.

        Offset 0, and any up to the header's length, mean the first marker. Walks from the nearest edge that is known.
        """
        header = self.known_header()
        if start <= header.length:
            return header.length, header.length
        if header.plain and start in self._places:
            return start, start
        known = max((edge for edge in self._places if edge <= start), default=header.length)
        at = self._places.get(known, header.length)
        edge = known
        for section in self.sections(known, at):
            if isinstance(section, NoSection) or section.end > start:
                break
            edge, at = section.end, section.next_at
        self.remember(edge, at)
        return edge, at

    def remember(self, start: int, at: int) -> None:
        """Keep the file offset of a section edge, so that a later `place` need not walk to it again."""
        if len(self._places) > 64:
            self._places.clear()
        self._places[start] = at

    def sections(self, start: int, at: int) -> Iterator[Section | NoSection]:
        """Sections from the edge (`start`, `at`) on, and last the reason why there is no further one."""
        header = self.known_header()
        length = self.status().size
        ahead, ahead_at = b"", at
        while True:
            if at + HEAD_BYTES_MAX > ahead_at + len(ahead):
                ahead, ahead_at = self.read(at, _AHEAD_BYTES), at
            head = ahead[at - ahead_at : at - ahead_at + HEAD_BYTES_MAX]
            found = read_section(head, header, at, start, length)
            if isinstance(found, NoSection) and found.why in (Stop.BAD_POINTER, Stop.END_OF_FILE):
                grown = self.status().size
                if grown > length:
                    length, ahead = grown, b""
                    continue
            yield found
            if isinstance(found, NoSection):
                return
            start, at = found.end, found.next_at

    def plain(self, section: Section) -> bytes:
        """The section's plain bytes: decompressed, decrypted. Raises CorruptError where they do not come out right."""
        begin = body_offset(self.known_header(), section)
        body = self.read(begin, section.next_at - begin)
        if len(body) < section.next_at - begin:
            raise CorruptError(
                "section is cut short",
                at=Position(self.segment, section.start),
                file=self.path.name,
                expected=f"{section.next_at - begin} bytes",
                found=len(body),
                remedy="Restore the file.",
            )
        return bytes(self.codec().decode(body, section.plain_length, Position(self.segment, section.start)))

    def codec(self) -> Codec:
        """What makes plain bytes of a section's body. Raises DefinitionError where the key or the means are missing."""
        if self._codec is None:
            header = self.known_header()
            alias = str(header.parameters["encKeyAlias"]) if header.encrypted else ""
            self._codec = open_codec(header, self._keys(alias) if header.encrypted else None)
        return self._codec

    def entries(self, section: Section) -> tuple[bytes, Entries]:
        """The section's plain bytes and the entries in them."""
        data = self.plain(section)
        expect(len(data) // CHECK_SHARE)
        return data, scan_entries_now(len(data))(data)

    def known_header(self) -> Header:
        """The header, which must be there by now."""
        header = self.header()
        if header is None:
            raise CorruptError(
                "segment header",
                at=Position(self.segment, 0),
                file=self.path.name,
                expected="a header",
                found="none yet",
                remedy="Look again later.",
            )
        return header
