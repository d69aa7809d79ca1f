"""Rows of one node that wait to be merged, and in which parts: whole batches by their cells, the others entry by entry.

Merges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, cast

from tailer.options.token_range import TokenRange
from tailer.position import Position
from tailer.rebuild.changes import NEEDED
from tailer.sinks.base import Rows

if TYPE_CHECKING:
    from tailer.rows.batch import Batch
    from tailer.rows.generic.compiled.batch import ArrayBatch

COLUMNS: Final = [*NEEDED, "row", "event_id"]

FEW: Final = 8
"""Fewer rows are merged one by one before the arrays of a batch are made."""

Entry = tuple[Position, list[dict[str, Any]]]


class WaitingRows:
    """In the order of the log. `bytes`: about what they take. `defined`: where the last batch has new definitions, the
    ids of their tables; `defined_before`: those of the batches before it."""

    def __init__(self, tokens: TokenRange | None) -> None:
        self.bytes = 0
        self.defined: list[str] = []
        self.defined_before: set[str] = set()
        self._tokens = tokens
        self._held: list[Batch] = []

    def add(self, batch: Rows) -> None:
        """Further rows."""
        # Of images rows are never typed.
        generic = cast("Batch", batch)
        self._held.append(generic)
        # Rows of definitions are batches of their own.
        changes = len(generic) and _one(generic, len(generic) - 1, "op") == ["schema"]
        self.defined_before.update(self.defined)
        self.defined = list(map(str, generic.column("table_id"))) if changes else []
        self.bytes += _bytes(generic)

    def clear(self) -> None:
        """None wait."""
        self.bytes, self.defined, self.defined_before, self._held = 0, [], set(), []

    def parts(self) -> Iterator[ArrayBatch | list[Entry]]:
        """Batches of whole entries that have their cells, and what stands between them."""
        plain: list[Batch] = []
        for number, batch in enumerate(self._held):
            if _has_cells(batch) and not self._is_cut(number):
                if plain:
                    yield self.entries(plain)
                    plain = []
                yield batch  # type: ignore[misc]
            else:
                plain.append(batch)
        if plain:
            yield self.entries(plain)

    def entries(self, batches: Sequence[Batch]) -> list[Entry]:
        """The rows of batches by entry."""
        rows = [row for batch in batches for row in batch.to_arrow().select(COLUMNS).to_pylist()]
        if self._tokens is not None:
            rows = [row for row in rows if self._tokens.has(row["token"])]
        by_entry = groupby(rows, key=lambda row: (row["segment"], row["offset"]))
        return [(Position(*place), list(entry)) for place, entry in by_entry]

    def _is_cut(self, number: int) -> bool:
        """Whether the batch's first or last entry has rows in another one."""
        held = self._held
        pairs = [held[at : at + 2] for at in (number - 1, number) if 0 <= at < len(held) - 1]
        return any(_place(one, len(one) - 1) == _place(other, 0) for one, other in pairs)


def _has_cells(batch: Batch) -> bool:
    return getattr(batch, "source", None) is not None and len(batch) >= FEW


def _place(batch: Batch, at: int) -> list[int]:
    return _one(batch, at, "segment", "offset")


def _one(batch: Batch, at: int, *names: str) -> list[Any]:
    one = batch.slice(at, at + 1)
    return [one.column(name)[0] for name in names]


def _bytes(batch: Batch) -> int:
    """Without making texts of them, where that can be."""
    if _has_cells(batch):
        fixed, *texts = batch.arrays  # type: ignore[attr-defined]
        return int(fixed.nbytes) + sum(int(each.data.nbytes) for each in texts)
    return int(batch.to_arrow().nbytes)
