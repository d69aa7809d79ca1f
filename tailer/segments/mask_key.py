"""The key that hashes of masked columns are made with: a file of its own, whose bytes stand in no state, no error."""

from __future__ import annotations

import hmac
import os
import stat
from pathlib import Path
from typing import Final, NamedTuple

from tailer.errors import UsageError
from tailer.system_errors import system_error

_BYTES_MIN: Final = 16
_BYTES_MAX: Final = 4096
_FINGERPRINT_OF: Final = b"cdc-tail mask key"
_FINGERPRINT_DIGITS: Final = 16
_MAKE_ONE: Final = "Make one: (umask 077; openssl rand -hex 32 > FILE)."


class MaskKey(NamedTuple):
    """`fingerprint`: tells keys apart, and nothing of the key."""

    secret: bytes
    fingerprint: str

    def __repr__(self) -> str:
        return f"MaskKey({self.fingerprint})"


def mask_key(path: Path) -> MaskKey:
    """The key in a file: all its bytes, but for a line end behind the last. UsageError for a file that is none."""
    try:
        with path.open("rb") as file:
            rights, data = os.fstat(file.fileno()).st_mode, file.read(_BYTES_MAX + 1)
    except FileNotFoundError:
        raise UsageError("no such file for the key of masks", file=str(path), remedy=_MAKE_ONE) from None
    except IsADirectoryError as error:
        raise UsageError(f"cannot read the key of masks: {error.strerror}", file=str(path)) from None
    except OSError as error:
        raise system_error("cannot read the key of masks", error, path) from None
    if rights & stat.S_IRWXO:
        raise UsageError(
            "the key of masks is not kept from everybody",
            file=str(path),
            expected="no rights for others",
            found=f"mode {stat.S_IMODE(rights):o}",
            remedy=f"chmod o= {path}",
        )
    secret = data.removesuffix(b"\n").removesuffix(b"\r")
    if not _BYTES_MIN <= len(secret) <= _BYTES_MAX:
        raise UsageError(
            "no key for masks is this long",
            file=str(path),
            expected=f"{_BYTES_MIN} to {_BYTES_MAX} bytes",
            found=len(secret),
            remedy=_MAKE_ONE,
        )
    return MaskKey(secret, hmac.digest(secret, _FINGERPRINT_OF, "sha256").hex()[:_FINGERPRINT_DIGITS])
