"""What the reader's loop asks of a payload: what is read one behind the other, how it is decoded, why it stopped.

A payload knows what entries mean and in which order they count. It knows no chunk, and tells nobody of a fault in one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterator
from typing import Protocol

from tailer.errors import DefinitionError
from tailer.rows.choice import AnyBatch, Decoded
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared
from tailer.segments.group import Group


class Entries(ABC):
    """Entries of one segment that are read one behind the other, by the same definitions, which are `prepared`."""

    def __init__(self, group: Group, segment: int, prepared: Prepared) -> None:
        self.group = group
        self.segment = segment
        self.prepared = prepared

    @abstractmethod
    def decode(self, chunk: Group, first: int) -> Decoded:
        """What a chunk of them gives from number `first` on, up to the first entry that does not decode."""

    @abstractmethod
    def explain(self, decoded: Decoded, place: Place) -> DefinitionError:
        """The error of the entry at which the scan stopped; `place`: of the chunk's entries."""

    def rows_before(self, batch: AnyBatch, decoded: Decoded, chunk: Group, entry: int) -> int:
        """How many rows of a batch, what was decoded or the end of it, are of entries before one of the chunk."""
        return bisect_left(batch.column("offset"), int(chunk.offsets[entry]))


class Payload(Protocol):
    """One task's entries. `unknown`: transactions left out because they began in a history that is not known."""

    unknown: int

    def parts(self, group: Group) -> Iterator[Entries | AnyBatch]:
        """What a group gives, in the order in which it counts: entries to be read, or rows that are made already.

        The next part is asked for when the one before was read: only then is there reason to look behind it.
        """
        ...
