"""The segment header (format page, section 2): version, id, JSON parameters, CRC. Knows no file.

      0         4         12        14        14+n      18+n
      +---------+---------+---------+---------+---------+
      | version | id      | n       | JSON    | CRC32   |   big-endian
      +---------+---------+---------+---------+---------+

The CRC takes the id's halves low first, and the length as four bytes.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tailer.errors import CorruptError, DefinitionError
from tailer.framing.name import parse_log_name
from tailer.limits import HEADER_DEPTH_MAX
from tailer.position import Position

_HEAD: Final = struct.Struct(">iqH")
_CRC: Final = struct.Struct(">I")
_CRC_INPUT: Final = struct.Struct(">iIII")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_I64: Final = 2**63
CASSANDRA: Final = "cassandra"
MSGPACK: Final = "msgpack"
PAYLOADS: Final = (CASSANDRA, MSGPACK)
"""Kinds of payload that are read: a server's mutations, and the records of a native log."""

VERSIONS: Final = (7, 8)
"""Descriptors that are read: 4.0 and 4.1, and 5.0 in its default mode, write 7; 5.0 in mode NONE writes 8."""


@dataclass(frozen=True, slots=True)
class Header:
    """A segment's header. `length` is the file offset of the first sync marker."""

    version: int
    segment: int
    parameters: Mapping[str, Any]
    length: int

    @property
    def encrypted(self) -> bool:
        return "encCipher" in self.parameters and "encKeyAlias" in self.parameters

    @property
    def compressed(self) -> bool:
        return not self.encrypted and "compressionClass" in self.parameters

    @property
    def plain(self) -> bool:
        return not self.encrypted and not self.compressed

    @property
    def payload(self) -> str:
        """`cassandra` for mutations, else what the header names (`msgpack` for writer_hooks)."""
        return str(self.parameters.get("payload", CASSANDRA))

    @property
    def native(self) -> bool:
        """Whether the entries are records of a native log."""
        return self.payload == MSGPACK

    @property
    def boot(self) -> str:
        """The run of the writer that wrote the segment; transaction ids count within it. Empty where none is named."""
        return str(self.parameters.get("boot", ""))

    @property
    def previous(self) -> int | None:
        """The id of the segment before this one in its native log; None where none is named."""
        named = self.parameters.get("previous")
        return named if type(named) is int else None


def encode_header(version: int, segment: int, parameters: Mapping[str, Any]) -> bytes:
    """A header's bytes, keys in sorted order as the server writes them."""
    text = json.dumps(dict(sorted(parameters.items())), separators=(",", ":")).encode()
    return _HEAD.pack(version, segment, len(text)) + text + _CRC.pack(_header_crc(version, segment, text))


def decode_header(data: bytes | memoryview, file: str = "", at: Position | None = None) -> Header | None:
    """The header at the start of `data`; None when there is none yet (too short, or zeros of a new file).

    `file` is the segment's file name and `at` its beginning, for errors. Raises DefinitionError for a descriptor that
    is not read here, CorruptError for a header that does not check.
    """
    if len(data) < _HEAD.size:
        return None
    version, segment, length = _HEAD.unpack_from(data)
    if version == 0 and not any(data[: _HEAD.size]):
        return None
    named = parse_log_name(file)
    if version not in VERSIONS and named is not None and named.version == version:
        # Name and header agree, so this is no damage: whatever follows may be framed in another way.
        raise _unknown_descriptor(version, file, at)
    if len(data) < _HEAD.size + length + _CRC.size:
        return None
    text = bytes(data[_HEAD.size : _HEAD.size + length])
    (found,) = _CRC.unpack_from(data, _HEAD.size + length)
    expected = _header_crc(version, segment, text)
    if found != expected:
        raise CorruptError(
            "header CRC does not check",
            at=at,
            file=file,
            expected=f"0x{expected:08x}",
            found=f"0x{found:08x}",
            remedy=_DAMAGED,
        )
    if version not in VERSIONS:
        raise _unknown_descriptor(version, file, at)
    return Header(version, segment, _decode_parameters(text, file, at), _HEAD.size + length + _CRC.size)


def _unknown_descriptor(version: int, file: str, at: Position | None) -> DefinitionError:
    return DefinitionError(
        "unknown commit-log descriptor",
        at=at,
        file=file,
        expected="7 (Cassandra 4.0, 4.1, 5.0) or 8 (5.0 with storage_compatibility_mode NONE)",
        found=version,
        remedy="This log was written by another Cassandra version; only 4.0 to 5.0 are read.",
    )


_DAMAGED: Final = "The file is damaged: restore it, or go on without it with --accept-loss."


def _header_crc(version: int, segment: int, text: bytes) -> int:
    fields = _CRC_INPUT.pack(version, segment & 0xFFFFFFFF, (segment >> 32) & 0xFFFFFFFF, len(text))
    return zlib.crc32(text, zlib.crc32(fields))


def _decode_parameters(text: bytes, file: str, at: Position | None) -> Mapping[str, Any]:
    try:
        parameters = json.loads(text)
        if isinstance(parameters, dict) and _is_sound(parameters, HEADER_DEPTH_MAX):
            return parameters
    except (ValueError, RecursionError):
        # RecursionError: thousands of arrays in one another, which 64 KiB have room for.
        pass
    raise CorruptError(
        "header parameters", at=at, file=file, expected="a JSON object", found=text[:80], remedy=_DAMAGED
    )


def _is_sound(value: object, depth: int) -> bool:
    """Whether a value can be shown again: not nested too deep, its texts Unicode, its numbers of 64 bits."""
    if isinstance(value, str):
        return not _SURROGATE.search(value)
    if isinstance(value, int):
        return -_I64 <= value < _I64
    if isinstance(value, dict | list):
        items = [*value, *value.values()] if isinstance(value, dict) else value
        return depth > 0 and all(_is_sound(item, depth - 1) for item in items)
    return True
