"""The list of a node's segments, as `GET /segments` gives it: what a look at the folder shows, by names.

The first four members are those of cassandra-sidecar's list, whose readers find what they know. Values only; who tells
what differs is `serve/listing.py`, who shows it as a folder `remote/looks.py`.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Final

import msgspec

from tailer.errors import CorruptError
from tailer.framing.name import SegmentName, parse_log_name, parse_sidecar_name
from tailer.framing.sidecar import decode_sidecar
from tailer.segments.folder import LogFile, SidecarFile

SECOND: Final = 1_000_000_000
NOTHING: Final = msgspec.Raw()


class LogInfo(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A segment's file, with what its sidecar says. Times are those of the node's files, in nanoseconds.

    `idx`: how far it is durable, None where no sidecar says so. `last_modified_timestamp`: in milliseconds.
    """

    name: str
    size: int
    idx: int | None
    completed: bool
    last_modified_timestamp: int
    links: int = 1
    inode: int = 0
    changed_ns: int = 0
    modified_ns: int = 0


class SidecarInfo(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A sidecar: its bytes as they are, in base64."""

    name: str
    bytes: str
    modified_ns: int


class BytesInfo(msgspec.Struct, frozen=True, rename="camel"):
    """Bytes of a segment's file from `at` on, in base64, as they were behind what the list says: some that its sidecar
    vouches for, and a few behind. `size` and `etag` are the file's, as with a range of it."""

    name: str
    at: int
    size: int
    etag: str
    bytes: str


class ListAnswer(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What there is (`since` empty), or what differs from the list of the etag `since`.

    `gone`: names that were in that list. `others`: names that are no regular file, with what each is. `cleaned`: the
    list of cleaned segments in its file's own form, nothing where it is that of `since`. `linked`: whether some log has
    a second name in the server's own folder. `now_ns`: the node's clock. `records`: how many the state's journal has.
    `folder`: the random id of the state, empty where it has none. `boot`: changes with every start of `serve`.
    `ahead`: bytes that the reader wished for with the news of them (`wire/wishes.py`).
    """

    host: str
    port: int
    segments_info: list[LogInfo]
    sidecars: list[SidecarInfo] = []
    gone: list[str] = []
    others: dict[str, str] = {}
    dropped: int | None = None
    cleaned: msgspec.Raw = NOTHING
    cleaned_tag: str = ""
    linked: bool = False
    folder: str = ""
    boot: str = ""
    etag: str = ""
    since: str = ""
    now_ns: int = 0
    records: int = 0
    ahead: list[BytesInfo] = []


def log_info(log: LogFile, inode: int, sidecar: SidecarFile | None) -> LogInfo:
    """What the list says of a segment's file."""
    content = None if sidecar is None else sidecar.content
    return LogInfo(
        name=log.name.log,
        size=log.size,
        idx=None if content is None else content.end,
        completed=content is not None and content.completed,
        last_modified_timestamp=int(log.modified * 1000),
        links=log.links,
        inode=inode,
        changed_ns=int(log.changed * SECOND),
        modified_ns=int(log.modified * SECOND),
    )


def sidecar_info(name: SegmentName, text: bytes, modified: float) -> SidecarInfo:
    """What the list says of a sidecar."""
    return SidecarInfo(name.sidecar, b64encode(text).decode(), int(modified * SECOND))


def bytes_info(name: SegmentName, at: int, size: int, etag: str, data: bytes) -> BytesInfo:
    """What comes with the list of a segment's bytes."""
    return BytesInfo(name.log, at, size, etag, b64encode(data).decode())


def bytes_of(info: BytesInfo) -> bytes:
    """CorruptError where they are none."""
    return _decoded(info.bytes, info.name)


def bytes_count(info: BytesInfo) -> int:
    """How many they are."""
    return len(info.bytes) * 3 // 4 - info.bytes[-2:].count("=")


def plain_sidecar(info: LogInfo) -> SidecarInfo | None:
    """What a list without sidecars says of one, as its file would. Beside COMPLETED stands a bound then."""
    name = parse_log_name(info.name)
    if name is None or info.idx is None:
        return None
    text = b"%d\nCOMPLETED\n" % info.idx if info.completed else b"%d\n" % info.idx
    return SidecarInfo(name.sidecar, b64encode(text).decode(), info.last_modified_timestamp * 1_000_000)


def log_of(info: LogInfo) -> LogFile:
    """What a look shows of a segment's file. CorruptError for a name that is none."""
    name = parse_log_name(info.name)
    if name is None or info.size < 0:
        raise _odd(info.name)
    return LogFile(name, info.links, info.size, info.changed_ns / SECOND, info.modified_ns / SECOND)


def sidecar_of(info: SidecarInfo) -> SidecarFile:
    """What a look shows of a sidecar. CorruptError for a name that is none."""
    name, text = parse_sidecar_name(info.name), _decoded(info.bytes, info.name)
    if name is None:
        raise _odd(info.name)
    return SidecarFile(name, decode_sidecar(text), info.modified_ns / SECOND)


def _decoded(text: str, name: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError as error:
        raise _odd(name) from error


def _odd(name: str) -> CorruptError:
    return CorruptError(
        "the node's list of segments is of a form that is not understood",
        expected="names of segments and sidecars, and what they hold",
        found=repr(name),
        remedy="Is this the address of `cdc-tail serve`, of this version or an older one?",
    )
