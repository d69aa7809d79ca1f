"""Work that no signal handler's exception (Ctrl-C) breaks off: handlers are called when it is done.

Python calls them in the main thread alone, between any two steps. Knows no log.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Final, TypeVar

_Made = TypeVar("_Made")
_Handler = Callable[[int, FrameType | None], Any]

_SIGNALS: Final = tuple(map(int, sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})))

# The functions beneath those of `signal`, which make names of numbers and back: asked for every signal at each sync,
# that takes half as long as a fast disk.
_plain: Final[Any] = sys.modules.get("_signal", signal)
_handler_of: Final[Callable[[int], Any]] = _plain.getsignal
_set_handler: Final[Callable[[int, _Handler], Any]] = _plain.signal


def uninterrupted(work: Callable[[], _Made]) -> _Made:
    """What `work` gives. Signals that come meanwhile have their handlers called behind it, whatever it raised."""
    if threading.get_ident() != threading.main_thread().ident:
        return work()
    came: list[tuple[int, FrameType | None]] = []
    # What is no function here ends the process, is ignored, or is not Python's.
    handlers: dict[int, _Handler] = {number: found for number in _SIGNALS if callable(found := _handler_of(number))}

    process = os.getpid()

    def note(number: int, frame: FrameType | None) -> None:
        if os.getpid() == process:
            came.append((number, frame))
        else:
            # Another thread has forked meanwhile: nobody in the child is at this work, or will put handlers back.
            handlers[number](number, frame)

    try:
        try:
            for number in handlers:
                _set_handler(number, note)
            return work()
        finally:
            _restore(tuple(handlers.items()))
    finally:
        _call(handlers, came)


def _restore(handlers: Sequence[tuple[int, _Handler]]) -> None:
    """All of them, also when one that is back already raises."""
    if handlers:
        try:
            _set_handler(*handlers[0])
        finally:
            _restore(handlers[1:])


def _call(handlers: dict[int, _Handler], came: Sequence[tuple[int, FrameType | None]]) -> None:
    """All of them, whatever the first ones raise."""
    if came:
        number, frame = came[0]
        try:
            handlers[number](number, frame)
        finally:
            _call(handlers, came[1:])
