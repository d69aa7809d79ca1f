"""A process killed at a file-system call: the n-th that changes something does not happen, nor any later one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest import mock

CALLS = ("unlink", "replace", "fsync", "ftruncate")


class Killed(BaseException):
    """Nothing of the program catches it."""


@contextmanager
def killed_at(number: int, calls: Sequence[str] = CALLS) -> Iterator[list[str]]:
    """Within the block the call of `calls` with this number (from 0) raises Killed. Gives those that happened."""
    happened: list[str] = []

    def wrapped(name: str) -> object:
        real = getattr(os, name)

        def call(*arguments: object, **options: object) -> object:
            if len(happened) >= number:
                raise Killed(name)
            happened.append(name)
            return real(*arguments, **options)

        return call

    with mock.patch.multiple(os, **{name: wrapped(name) for name in calls}):
        yield happened
