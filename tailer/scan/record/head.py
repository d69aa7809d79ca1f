"""The first bytes of a native log's change record, read without decoding what follows them. Pure.

    0x97 02 | c4 10 table id | c4 08 fingerprint | txn | write_ts | rows ...

What the heads of many records say together is told by `tailer.scan.record.kinds`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

TABLE_AT: Final = 4
FINGERPRINT_AT: Final = 22
TXN_AT: Final = 30
"""Where these stand in a change's payload: a table id and a fingerprint have one length, and so have their heads."""

CHANGE_PREFIX: Final = b"\x97\x02\xc4\x10"
FINGERPRINT_PREFIX: Final = b"\xc4\x08"
NIL: Final = 0xC0

NO_RECORD: Final = 0
"""In place of a kind: the bytes are no record."""

UNUSUAL: Final = 255
"""In place of CHANGE: a change whose first bytes are not those that every writer makes."""

IN_TRANSACTION: Final = 254
"""In place of CHANGE: it counts when its transaction is committed."""

_INTEGERS: Final = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
_SIGNED: Final = 0xD0


class ChangeHead(NamedTuple):
    """A change: the 24 bytes of its table's key, its transaction (None: it counts at once), how many rows it has."""

    key: bytes
    txn: int | None
    rows: int


def change_head(payload: bytes | memoryview) -> ChangeHead | None:
    """The head of a change record; None for bytes that are none."""
    if len(payload) <= TXN_AT or payload[0] & 0xF0 != 0x90 or bytes(payload[1:TABLE_AT]) != CHANGE_PREFIX[1:]:
        return None
    if bytes(payload[FINGERPRINT_AT - 2 : FINGERPRINT_AT]) != FINGERPRINT_PREFIX:
        return None
    key = bytes(payload[TABLE_AT : FINGERPRINT_AT - 2]) + bytes(payload[FINGERPRINT_AT:TXN_AT])
    txn, at = (None, TXN_AT + 1) if payload[TXN_AT] == NIL else _integer(payload, TXN_AT)
    if at < 0 or (txn is not None and txn < 0):
        return None
    _, at = _integer(payload, at)
    rows = _array(payload, at) if at >= 0 else -1
    return ChangeHead(key, txn, rows) if rows >= 0 else None


def _integer(payload: bytes | memoryview, at: int) -> tuple[int, int]:
    """An integer of any width, and the offset behind it, -1 where there is none."""
    if at >= len(payload):
        return 0, -1
    lead = payload[at]
    if lead < 0x80:
        return lead, at + 1
    if lead >= 0xE0:
        return lead - 0x100, at + 1
    width = _INTEGERS.get(lead, 0)
    end = at + 1 + width
    if not width or end > len(payload):
        return 0, -1
    return int.from_bytes(payload[at + 1 : end], "big", signed=lead >= _SIGNED), end


def _array(payload: bytes | memoryview, at: int) -> int:
    """How many elements the array at `at` has, -1 where there is none."""
    if at >= len(payload):
        return -1
    lead = payload[at]
    if lead & 0xF0 == 0x90:
        return lead & 0x0F
    width = {0xDC: 2, 0xDD: 4}.get(lead, 0)
    end = at + 1 + width
    if not width or end > len(payload):
        return -1
    return int.from_bytes(payload[at + 1 : end], "big")
