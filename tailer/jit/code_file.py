"""One function's object code as a file: written whole and durably, and read only if it is whole and of nobody else's.

What a file holds is run. A digest in front tells damage and another function's file; owner and rights tell who may have
written it: root and the user that runs it, nobody else.
"""

from __future__ import annotations

import os
import stat
from hashlib import blake2b
from pathlib import Path
from typing import Final

_FORM: Final = b"cdc-tail code 1 "
_HEAD_BYTES: Final = len(_FORM) + 64 + 1
OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


class NotKeptError(Exception):
    """Compiled code is not there, or is not to be used."""


def distrust(status: os.stat_result, forbidden: int = OTHERS_WRITE) -> str | None:
    """Why code is not taken from a file or folder with this owner and these rights; None if it may be."""
    if status.st_uid not in (0, os.geteuid()):
        return f"belongs to user {status.st_uid}"
    return "can be written by others" if status.st_mode & forbidden else None


def write_code(path: Path, code: bytes) -> None:
    """Keeps a function's code: under its name it is whole, also after a crash."""
    made = path.with_name(f"{path.name}.{os.getpid()}")
    made.unlink(missing_ok=True)
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(_head(path.name, code) + code)
        file.flush()
        os.fsync(descriptor)
    made.replace(path)


def read_code(path: Path, forbidden: int = OTHERS_WRITE) -> bytes:
    """What `write_code` was given. NotKeptError where it is not there whole, or others may have written it.

    `forbidden`: the rights to write that nobody else may have.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            status = os.fstat(descriptor)
            why = distrust(status, forbidden) if stat.S_ISREG(status.st_mode) else "is no file"
            if why is not None:
                raise NotKeptError(f"{path} {why}")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                data = file.read()
        finally:
            os.close(descriptor)
    except OSError as error:
        raise NotKeptError(f"{path} cannot be read ({error.strerror})") from error
    head, code = data[:_HEAD_BYTES], data[_HEAD_BYTES:]
    if head != _head(path.name, code):
        raise NotKeptError(f"{path} is damaged")
    return code


def _head(name: str, code: bytes) -> bytes:
    digest = blake2b(name.encode() + b"\n" + code, digest_size=32)
    return _FORM + digest.hexdigest().encode() + b"\n"
