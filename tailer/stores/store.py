"""What a place for files that are kept elsewhere can do. Knows bytes and names alone.

A file is there whole or not at all, and stays when `put` has returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from tailer.limits import MIB


class Store(Protocol):
    """Files by name; a name has slashes between its parts. FileNotFoundError for one that is not there.

    SystemFailedError for what is worth another try, UsageError for what only a person mends: no right, no bucket.
    """

    where: str

    def put(self, name: str, parts: Iterable[bytes]) -> None:
        """Write a file, or replace it: durable when this returns."""
        ...

    def parts(self, name: str) -> Iterator[bytes]:
        """A file's bytes, part by part."""
        ...

    def names(self, folder: str) -> list[str]:
        """What stands directly in a folder, sorted; nothing where there is none."""
        ...


PART_BYTES: Final = MIB
