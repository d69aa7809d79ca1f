"""Maps of bytes as Spark keeps them for one bucket, and one of them held while a batch is merged. Knows no fact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol


class ByteMap(Protocol):
    """A map of one bucket. Each call is a message to the JVM and back."""

    def get(self, key: bytes) -> bytes | None: ...

    def put(self, key: bytes, value: bytes) -> None: ...

    def remove(self, key: bytes) -> None: ...

    def keys(self) -> Iterable[bytes]:
        """All keys, in any order."""
        ...

    def items(self) -> Iterable[tuple[bytes, bytes]]:
        """All keys with their values, in any order."""
        ...


class Maps(NamedTuple):
    """`about`: a few things of the bucket as a whole; `heads`: by partition what is kept of it, small ones with all
    their rows; `rows`: the rows of the others; `names`: those rows' keys; `dues`: what expires when."""

    about: ByteMap
    heads: ByteMap
    rows: ByteMap
    names: ByteMap
    dues: ByteMap


class Held:
    """A map of which nothing is read twice in a batch, and what has changed is written at its end."""

    def __init__(self, kept: ByteMap) -> None:
        self._kept = kept
        self._stored: dict[bytes, bytes | None] = {}
        self._changed: dict[bytes, bytes | None] = {}

    def get(self, key: bytes) -> bytes | None:
        if key in self._changed:
            return self._changed[key]
        if key not in self._stored:
            self._stored[key] = self._kept.get(key)
        return self._stored[key]

    def put(self, key: bytes, value: bytes) -> None:
        self._changed[key] = value

    def remove(self, key: bytes) -> None:
        self._changed[key] = None

    def keys(self) -> set[bytes]:
        gone = {key for key, value in self._changed.items() if value is None}
        return {*self._kept.keys(), *self._changed} - gone

    def flush(self) -> None:
        """Write what is not there as it should be."""
        for key, value in self._changed.items():
            if key in self._stored and self._stored[key] == value:
                continue
            if value is not None:
                self._kept.put(key, value)
            elif self._stored.get(key, b"") is not None:
                self._kept.remove(key)
            self._stored[key] = value
        self._changed.clear()


class HeldWhole(Held):
    """A small map that is read at once."""

    def __init__(self, kept: ByteMap) -> None:
        super().__init__(kept)
        self._stored.update(kept.items())

    def get(self, key: bytes) -> bytes | None:
        return self._changed[key] if key in self._changed else self._stored.get(key)

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """All that is there now, in the order of keys."""
        now = {**self._stored, **self._changed}
        return iter([(key, value) for key in sorted(now) if (value := now[key]) is not None])
