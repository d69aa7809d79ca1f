"""One segment file, open: bytes by `pread`, sections by walking markers, plain bytes of a section.

`pread`, never mmap: the file may grow, shrink or vanish while it is read. Knows no sidecar.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tailer.errors import CorruptError, DefinitionError, SystemFailedError, UsageError
from tailer.format.codec import Codec, open_codec
from tailer.format.entry import Entries, scan_entries
from tailer.format.header import CASSANDRA, Header, decode_header
from tailer.format.section import HEAD_BYTES_MAX, NoSection, Section, Stop, body_offset, read_section
from tailer.limits import HEADER_BYTES_MAX, MIB
from tailer.position import Position

KeySource = Callable[[str], bytes | None]
"""From a key alias to the secret key, or None where no keystore was given."""

_HEADER_GUESS: Final = 512
_CACHE_BYTES: Final = 16 * MIB
"""Plain bytes kept between the planner's look and the reader's: one step of a follower fits."""


def no_keys(alias: str) -> bytes | None:
    """The key source of a run without a keystore."""
    return None


class SegmentFile:
    """A segment, held by descriptor: a name that is deleted meanwhile does no harm."""

    def __init__(self, path: Path, segment: int, keys: KeySource = no_keys) -> None:
        self.path = path
        self.segment = segment
        self._keys = keys
        self._fd = _open(path)
        self._header: Header | None = None
        self._codec: Codec | None = None
        self._places: dict[int, int] = {}
        self._cache: OrderedDict[int, tuple[bytes, Entries]] = OrderedDict()
        self._cached_bytes = 0

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def reopen(self) -> None:
        """Look with a fresh descriptor: a network file system may show an old one stale bytes."""
        fresh = _open(self.path)
        os.close(self._fd)
        self._fd = fresh
        self._cache.clear()
        self._cached_bytes = 0

    def __enter__(self) -> SegmentFile:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def stat(self) -> os.stat_result:
        return os.fstat(self._fd)

    def read(self, at: int, length: int) -> bytes:
        """Up to `length` bytes from file offset `at`; fewer only where the file ends."""
        parts: list[bytes] = []
        while length > 0:
            try:
                part = os.pread(self._fd, length, at)
            except OSError as error:
                raise SystemFailedError(
                    f"cannot read the segment: {error.strerror}", at=Position(self.segment, at), file=self.path.name
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
            if header is not None and header.payload != CASSANDRA:
                raise DefinitionError(
                    "the segment's entries are of a kind that is not read here",
                    file=self.path.name,
                    expected=f"payload {CASSANDRA}",
                    found=header.payload,
                    remedy="A newer cdc-tail may read it.",
                )
            self._header = header
        return self._header

    def place(self, start: int) -> tuple[int, int]:
        """(logical offset, file offset) of the section edge at logical `start`, or of the section that holds it.

        Offset 0, and any up to the header's length, mean the first marker. Walks from the nearest edge that is known.
        """
        header = self._known_header()
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
        header = self._known_header()
        length = self.stat().st_size
        while True:
            found = read_section(self.read(at, HEAD_BYTES_MAX), header, at, start, length)
            if isinstance(found, NoSection) and found.why in (Stop.BAD_POINTER, Stop.END_OF_FILE):
                grown = self.stat().st_size
                if grown > length:
                    length = grown
                    continue
            yield found
            if isinstance(found, NoSection):
                return
            start, at = found.end, found.next_at

    def plain(self, section: Section) -> bytes:
        """The section's plain bytes: decompressed, decrypted. Raises CorruptError where they do not come out right."""
        header = self._known_header()
        if self._codec is None:
            alias = str(header.parameters["encKeyAlias"]) if header.encrypted else ""
            self._codec = open_codec(header, self._keys(alias) if header.encrypted else None)
        begin = body_offset(header, section)
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
        return self._codec.decode(body, section.plain_length, Position(self.segment, section.start))

    def entries(self, section: Section) -> tuple[bytes, Entries]:
        """The section's plain bytes and the entries in them; kept for a while when all of them are good."""
        cached = self._cache.get(section.start)
        if cached is not None and len(cached[0]) == section.plain_length:
            return cached
        data = self.plain(section)
        entries = scan_entries(data)
        if not entries.faults and len(data) <= _CACHE_BYTES:
            self._keep(section.start, (data, entries))
        return data, entries

    def _keep(self, start: int, item: tuple[bytes, Entries]) -> None:
        old = self._cache.pop(start, None)
        self._cached_bytes += len(item[0]) - (len(old[0]) if old is not None else 0)
        self._cache[start] = item
        while self._cached_bytes > _CACHE_BYTES:
            _, (dropped, _) = self._cache.popitem(last=False)
            self._cached_bytes -= len(dropped)

    def _known_header(self) -> Header:
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


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError as error:
        raise UsageError(
            "no permission to read the segment",
            file=str(path),
            remedy="Run as a user in the server's group, e.g. `cassandra`, that may read its files.",
        ) from error
