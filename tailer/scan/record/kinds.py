"""What the records of a native log are, all at once: kinds and transactions told from their first bytes.

Most records are changes that count at once; telling them from the others must cost next to nothing. Decodes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tailer.jit.ready import twin_now
from tailer.scan.record.head import (
    CHANGE_PREFIX,
    FINGERPRINT_AT,
    FINGERPRINT_PREFIX,
    IN_TRANSACTION,
    NIL,
    NO_RECORD,
    TABLE_AT,
    TXN_AT,
    UNUSUAL,
)
from tailer.scan.record.record import CHANGE, COMMIT, ROLLBACK_TO, SAVEPOINT

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tailer.jit.addresses import Numbers

    Bytes = npt.NDArray[np.uint8]

SMALL_ENTRIES: Final = 64
"""The plain twin is done with fewer before the compiled one has begun."""

_TWIN: Final = "tailer.scan.record.compiled.kinds"


def kinds_of(data: bytes, starts: Numbers, sizes: Numbers) -> Bytes:
    """The kind of each record: one of `record`, or of `head` what stands there in place of one."""
    twin = twin_now(_TWIN, len(starts) >= SMALL_ENTRIES)
    if twin is not None:
        found: Bytes = twin.kinds_of(data, starts, sizes)
        return found
    return plain_kinds(data, starts, sizes)


def plain_kinds(data: bytes, starts: Numbers, sizes: Numbers) -> Bytes:
    """The same, in plain numpy."""
    import numpy as np

    seen = np.frombuffer(data, np.uint8)
    if len(starts) == 0:
        return seen[:0]
    kinds = np.where((seen[starts] & 0xF0) == 0x90, seen[starts + 1], NO_RECORD).astype(np.uint8)
    kinds[kinds > 0x7F] = NO_RECORD
    changes = np.flatnonzero(kinds == CHANGE)
    if len(changes):
        kinds[changes] = _changes(seen, starts[changes], sizes[changes])
    return kinds


def _changes(seen: Bytes, starts: Numbers, sizes: Numbers) -> Bytes:
    import numpy as np

    # A short one must not be looked at behind its end.
    whole = sizes > TXN_AT
    at = np.where(whole, starts, starts[0] if whole[0] else 0)
    if not whole.any():
        return np.full(len(starts), UNUSUAL, np.uint8)
    usual = whole
    prefixes = ((2, CHANGE_PREFIX[2:TABLE_AT]), (FINGERPRINT_AT - 2, FINGERPRINT_PREFIX))
    for place, prefix in prefixes:
        for number, byte in enumerate(prefix):
            usual = usual & (seen[np.minimum(at + place + number, len(seen) - 1)] == byte)
    alone = seen[np.minimum(at + TXN_AT, len(seen) - 1)] == NIL
    return np.where(usual, np.where(alone, CHANGE, IN_TRANSACTION), UNUSUAL).astype(np.uint8)


def of_transactions(kinds: Bytes) -> Numbers:
    """Numbers of the records that say what a transaction holds."""
    import numpy as np

    wanted = (kinds == IN_TRANSACTION) | (kinds == SAVEPOINT) | (kinds == ROLLBACK_TO)
    return np.flatnonzero(wanted | (kinds == COMMIT))
