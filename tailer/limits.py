"""Every bound of the reader, with its unit and its reason.

Lengths found in a log are checked against these before they are used for anything.
"""

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

OFFSET_MAX: Final = 2**31 - 1
"""Offsets in the format are signed 32-bit (CommitLogPosition)."""

SECTION_BYTES_MAX: Final = 1024 * MIB
"""Plain bytes of one section: the largest segment size in use, and what one decompression may allocate."""

LARGE_SECTION_BYTES: Final = 64 * MIB
"""Compressed sections that claim more plain bytes are looked at before they get room: twice the default segment size.
One chunk of an encrypted section is never as large, it has 64 KiB by default."""

LOOKED_AT_BYTES: Final = 256 * KIB
"""How much of such a section is looked at first."""

HEADER_DEPTH_MAX: Final = 8
"""Objects in one another in a segment's header; a compressor's options make two."""

ENTRY_BYTES_MIN: Final = 10
"""Cassandra's reader calls anything smaller corrupt (CommitLogReader.readSection)."""

ENTRY_OVERHEAD: Final = 12
"""Size, its CRC, and the CRC of size and payload (CommitLog.ENTRY_OVERHEAD_SIZE)."""

SIDECAR_BYTES_MAX: Final = 256
"""A sidecar is two or four short lines; anything longer is not one."""

HEADER_BYTES_MAX: Final = 18 + 65535
"""Version, id, 16-bit length, parameters, CRC."""

TYPE_DEPTH_MAX: Final = 64
"""Nesting of a CQL type; deeper text is refused before it can exhaust the stack."""

RECORD_DEPTH_MAX: Final = 32
"""Arrays and maps in one another, of a record's attributes and of what is passed over in it."""

ATTRS_BYTES_MAX: Final = 64 * KIB
"""Of a change's attributes as msgpack: each of its rows says them."""

KEY_PART_BYTES_MAX: Final = 65535
"""Of a value in a partition key of several columns: its length stands in two bytes (format page, section 8)."""

COLUMNS_MAX: Final = 65535
"""Columns of one table's update; far above what a server accepts."""

QUARANTINE_BYTES_MAX: Final = 256 * MIB
"""What a quarantine keeps before the stream stops."""

SETTLE_SECONDS: Final = 60.0
"""How long promised bytes of an unfinished segment may be invisible before it is corruption."""

SETTLE_ONCE_SECONDS: Final = 2.0
"""The same for runs that do not wait (`--once`)."""

DIGITS_MAX: Final = 20
"""Of a whole number in a text that others wrote: as many as 64 bits need. Of more than 4,300 Python makes no number
(ValueError)."""


def whole_number(text: str) -> int | None:
    """The number that ASCII digits say; None for any other text, and for one of more than DIGITS_MAX digits."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX else None


def shown(value: object, most: int = 200) -> str:
    """A value as a sentence shows it, `most` letters of it. Files in TOML and YAML may have whole numbers of any length
    (in hex digits), of which Python makes no text."""
    try:
        return repr(value)[:most]
    except ValueError:
        return "a number of thousands of digits"
