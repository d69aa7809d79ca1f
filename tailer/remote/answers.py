"""A node's answers as values; one of another form is a documented error. Sends nothing."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from tailer.errors import SystemFailedError
from tailer.wire.state import decode

_Form = TypeVar("_Form")


def decoded(body: bytes, form: type[_Form], where: str) -> _Form:
    """An answer's body. SystemFailedError for what is none."""
    try:
        found: _Form = decode(body, form)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise odd(where, str(error)) from None
    return found


def odd(where: str, found: str) -> SystemFailedError:
    """The error of an answer that is not understood."""
    return SystemFailedError(
        "the node's answer is of a form that is not understood",
        file=where,
        found=found,
        remedy="Is this the address of `cdc-tail serve`, of this version or an older one?",
    )
