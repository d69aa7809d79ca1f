"""Streams that fail, for the sinks' tests."""

from __future__ import annotations

import io


class Failing(io.RawIOBase):
    """Every write raises `error`."""

    def __init__(self, error: OSError) -> None:
        self._error = error

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        raise self._error


class Terminal(io.BytesIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True
