"""Mutations written by hand from format page 5: what a server's serialiser would put there, field by field."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

TABLE = UUID("11111111-2222-11ee-8888-0123456789ab").bytes
OTHER = UUID("33333333-2222-11ee-8888-0123456789ab").bytes
T = 1_700_000_000_000_000
"""The base of all timestamps here, µs."""

NOW = 1_700_000_000
END = b"\x01"

FIRST = bytes.fromhex(
    "01" "11111111222211ee88880123456789ab" "0400000001" "10" "fce9d96a43c000" "00" "00" "010176" "01"
    "24" "000161" "00" "080000002a" "01"
)  # fmt: skip
"""The mutation of format page 11: INSERT INTO ks.t (pk, ck, v) VALUES (1, 'a', 42) USING TIMESTAMP 1700000000000000."""

SECOND = bytes.fromhex(
    "01" "11111111222211ee88880123456789ab" "0400000001" "18" "fce9d96a43bfff" "ef535700" "8e10"
    "010173" "020176016d" "a001" "0001026869" "02"
    "6c" "000161" "01008e10" "1a00000007" "0000" "01" "1a016b0400000009"
    "00" "000162" "02" "050100"
    "020700010001630100" "020600010001650100" "01"
)  # fmt: skip
"""The page's second mutation: static row, row with TTL that overwrites `m`, cell tombstone, range tombstone."""


def vint(value: int) -> bytes:
    """Unsigned, shortest form; negative numbers as their 64-bit two's complement."""
    value &= 2**64 - 1
    for extra in range(8):
        if value < 1 << 7 * (extra + 1):
            lead = (0xFF00 >> extra) & 0xFF
            return (value | lead << 8 * extra).to_bytes(extra + 1, "big")
    return b"\xff" + value.to_bytes(8, "big")


def counted(value: bytes) -> bytes:
    """Vint length, then the bytes."""
    return vint(len(value)) + value


def names(*columns: str) -> bytes:
    """A column list."""
    return vint(len(columns)) + b"".join(counted(column.encode()) for column in columns)


def update(
    *unfiltereds: bytes,
    columns: Sequence[str] = (),
    statics: Sequence[str] = (),
    static_row: bytes = b"",
    deletion: bytes = b"",
    table: bytes = TABLE,
    key: bytes = b"\x00\x00\x00\x01",
    ldt: int = NOW,
    ttl: int = 0,
) -> bytes:
    """One partition update with timestamps from T on, local times from `ldt` on, TTLs from `ttl` on."""
    flags = 0x10 | (0x08 if static_row else 0) | (0x04 if deletion else 0)
    head = table + counted(key) + bytes([flags])
    bases = vint(T - 1_442_880_000_000_000) + vint(ldt - 1_442_880_000) + vint(ttl)
    lists = (names(*statics) if static_row else b"") + names(*columns)
    return head + bases + lists + deletion + static_row + vint(len(unfiltereds)) + b"".join(unfiltereds) + END


def mutation(*updates: bytes) -> bytes:
    return vint(len(updates)) + b"".join(updates)


def ck(*values: bytes | None) -> bytes:
    """Up to 32 clustering values of types with a length prefix; b"" is empty, None null."""
    header, body = 0, b""
    for number, value in enumerate(values):
        if value is None:
            header |= 2 << 2 * number
        elif not value:
            header |= 1 << 2 * number
        else:
            body += counted(value)
    return vint(header) + body


def deletion(after: int, ldt: int = 0) -> bytes:
    """Microseconds after T, seconds after the base."""
    return vint(after) + vint(ldt)


def marker(kind: int, values: Sequence[bytes], *deletions: bytes) -> bytes:
    return bytes([2, kind]) + len(values).to_bytes(2, "big") + (ck(*values) if values else b"") + b"".join(deletions)


def cell(flags: int, *parts: bytes) -> bytes:
    return bytes([flags]) + b"".join(parts)
