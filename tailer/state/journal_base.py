"""The journal's base: what a compaction left of its records, in a file of its own that is replaced whole.

    line 1    CRC32 and JSON of the base itself, `Base`
    line 2…   records, each with the number that it always had; between them others are gone

The base is renamed into place before the journal behind it begins anew, so that a record which stands in both is one of
the base's. Reads and writes that one file; what may go is decided in `retention/forget.py`.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final
from zlib import crc32

import msgspec

from tailer.errors import RefusedError, UsageError
from tailer.position import Position
from tailer.state.journal_records import LOG, AnyRecord, SchemaRecord, checks, decode, encode
from tailer.state.modes import read_file, replace_file
from tailer.state.offset import NodeOffset
from tailer.typed_decode import decode_json
from tailer.versions import UNDECODABLE, VersionNamed, check_version, decode_whole

FILE_NAME: Final = "journal.base"
VERSION: Final = 1

Identity = tuple[int, int, int]
"""What tells one base from the next: inode, time of the last write, size; zeros where there is none."""

NO_FILE: Final[Identity] = (0, 0, 0)


class Base(msgspec.Struct, frozen=True):
    """What a compaction says of itself.

    `upto`: numbers up to this one are the base's, the journal goes on behind it; the compaction has taken the last of
    them for itself, so that an offset which left before it has a smaller `j`. What is gone said nothing of segment
    `segment` or a higher one, and had number `j` or a lower one: an offset from before the compaction that stands lower
    cannot be read any more. `records`: how many lines follow. `id`: of the journal, for as long as it is one.
    """

    v: int = VERSION
    id: str = ""
    upto: int = 0
    segment: int = 0
    j: int = 0
    records: int = 0

    def forgets(self, offset: NodeOffset) -> bool:
        """Whether an offset needs what is gone."""
        return offset.j < self.upto and (offset.j < self.j or _lowest(offset) < self.segment)

    def check(self, offset: NodeOffset, where: str) -> None:
        """RefusedError for an offset that needs what is gone."""
        if not self.forgets(offset):
            return
        raise RefusedError(
            "the position given is older than what the journal still knows",
            file=where,
            expected=f"segment {self.segment} or a higher one, and {self.j} journal records or more",
            found=f"segment {_lowest(offset)} and {offset.j} records",
            remedy="No consumer held it when `clean` ran. Start with a new consumer or checkpoint.",
        )

    def check_retract(self, record: SchemaRecord, where: Path) -> None:
        """UsageError for a definition of the log if what held before it may be gone: nobody could go by that again."""
        if record.source == LOG and record.n < self.upto and record.at <= Position(self.segment, 0):
            raise UsageError(
                f"record {record.n} cannot be retracted: what held before it is forgotten",
                file=str(where),
                expected=f"one that holds behind the beginning of segment {self.segment}, or that is not of the log",
                found=f"one of the log, from {record.at} on",
                remedy="The next change of the table on its server overrules it.",
            )


NOTHING: Final = Base()


def identity(folder: Path) -> Identity:
    """Which base there is now. One `stat`."""
    try:
        status = os.stat(f"{folder}/{FILE_NAME}")  # noqa: PTH116 - joined as a text: each look asks
    except FileNotFoundError:
        return NO_FILE
    return status.st_ino, status.st_mtime_ns, status.st_size


def read_base(folder: Path) -> tuple[Base, list[AnyRecord]]:
    """The base and its records; nothing where there is none. RefusedError for one that is damaged."""
    path = folder / FILE_NAME
    try:
        lines = read_file(path).split(b"\n")
    except FileNotFoundError:
        return NOTHING, []
    bad = next((number for number, line in enumerate(lines[:-1], 1) if not checks(line)), None)
    if bad is not None or len(lines) < 2 or lines[-1]:
        raise _damaged(path, bad or len(lines), "a line that checks")
    base = _head(lines[0], path)
    if len(lines) - 2 != base.records:
        raise _damaged(path, len(lines) - 1, f"{base.records} records")
    return base, [decode(line, f"{path}, line {number}") for number, line in enumerate(lines[1:-1], 2)]


def write_base(folder: Path, base: Base, records: Sequence[AnyRecord]) -> Base:
    """Replace the base: durable when this returns what was written. A first one gets the journal's id."""
    written = msgspec.structs.replace(base, id=base.id or secrets.token_hex(8), records=len(records))
    replace_file(folder / FILE_NAME, b"".join(_lines(written, records)))
    return written


def _lines(base: Base, records: Iterable[AnyRecord]) -> Iterable[bytes]:
    body = msgspec.json.encode(base)
    yield b"%08x %s\n" % (crc32(body), body)
    yield from map(encode, records)


def _head(line: bytes, path: Path) -> Base:
    try:
        # Its version first: of a newer one nothing else is known.
        version = decode_json(line[9:], VersionNamed).v
        check_version(version, VERSION, "the journal's base", file=str(path))
        return decode_whole(line[9:], Base)
    except UNDECODABLE as error:
        raise _damaged(path, 1, f"what a compaction says of itself ({error})") from error


def _damaged(path: Path, line: int, expected: str) -> RefusedError:
    return RefusedError(
        "the journal's base is damaged",
        file=f"{path}, line {line}",
        expected=expected,
        found="other bytes",
        remedy="Restore the state folder from a backup; what the journal decided cannot be guessed.",
    )


def _lowest(offset: NodeOffset) -> int:
    return min([offset.s, *(segment for segment, _ in offset.p)])
