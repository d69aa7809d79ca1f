"""What a consumer of images sees, and what must hold of any images whatever the history: the chain of each row, the
sequence of each partition. Image by image, with nothing of the model.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from typing import Any, Final

from tests.helpers.images.tables import STATIC, Key

TABLE_WIDE: Final = ("truncate", "schema", "drop")
ROWLESS: Final = ("delete_range", "delete_partition")
ROW_OPS: Final = ("insert", "update", "delete", "upsert", "expire", "read")

Row = tuple[int, Key]
"""Of which partition, and which row."""


def row_of(image: Any) -> Row:
    """The row that an image is of."""
    k = json.loads(image.partition_key)["k"]
    if image.is_static:
        return k, STATIC
    return k, tuple(json.loads(image.clustering).values()) if image.clustering else ()


def is_row(image: Any) -> bool:
    return image.op in ROW_OPS


class Seen:
    """`rows`: the fold of `after`. `last`: the text that each row's last image ended with, and by which definition."""

    def __init__(self) -> None:
        self.rows: dict[Row, str] = {}
        self.complete: dict[Row, bool] = {}
        """What the last image of each row said."""
        self.last: dict[Row, tuple[int, str | None]] = {}
        self.seqs: dict[int | None, int] = {}
        self._begun = 0
        """Rows of the newest definition have numbers from this one on."""
        self.definition = 0
        """Counts `schema` images, and losses: over one, `before` has the columns that are known now."""
        self._lost = 0
        """The last one that is a loss."""
        self.doubted: set[Row] = set()
        """Rows that were complete, maybe by deletions that a truncation has voided."""
        self.maybe_forgotten: set[Row] = set()
        self.forgotten: set[int] = set()
        """Partitions of which nothing is kept: their next `prev_seq` is not known."""

    def lose(self) -> None:
        """Some of the history was lost."""
        self.definition += 1
        self._lost = self.definition
        self.complete.clear()

    def forget(self, partitions: set[int]) -> None:
        """These partitions have no state any more; elsewhere rows may have none of which nothing is known to live."""
        bare = {row for row, text in self.rows.items() if not _there(text)}
        lost = {row for row in self.rows.keys() - bare if row[0] in partitions}
        assert not lost, f"forgotten, though they live: {lost}"
        self.forgotten |= partitions
        self.maybe_forgotten |= bare

    def without(self, columns: Container[str]) -> None:
        """Columns are dropped: of rows that no image told of since they are gone too, also where they come back."""
        for row, text in self.rows.items():
            self.rows[row] = _without(text, columns)
        for row, (definition, last) in self.last.items():
            self.last[row] = definition, last and _without(last, columns)

    def take(self, images: Iterable[Any], now_us: int) -> None:
        for image in images:
            self._sequence(image, now_us)
            if image.op == "schema":
                self.definition += 1
            if image.op == "truncate" and not image.complete:
                self.doubted |= {row for row, complete in self.complete.items() if complete}
            if is_row(image):
                self._chain(image)

    def _sequence(self, image: Any, now_us: int) -> None:
        wide = image.op in TABLE_WIDE
        assert wide == (image.partition_key is None), image
        whose = None if wide else json.loads(image.partition_key)["k"]
        last, now_us = self.seqs.get(whose), max(now_us, self._begun)
        if image.op == "schema":
            # Above those of all rows of the definition before it, and above the clock.
            known = [seq for name, seq in self.seqs.items() if name not in self.forgotten]
            assert max([now_us, *known]) < image.seq <= max([now_us, *self.seqs.values()]) + 1, image
            assert image.prev_seq == last, f"prev_seq where the last was {last}: {image}"
            self._begun = image.seq + 1
        elif whose in self.forgotten:
            self.forgotten.discard(whose)
            assert image.prev_seq is None, image
            assert image.seq == now_us, image
            assert image.seq > (last or 0), f"the seq of another image, {last}: {image}"
        else:
            assert image.prev_seq == last, f"prev_seq where the last was {last}: {image}"
            assert image.seq == max(now_us, -1 if last is None else last + 1), image
        self.seqs[whose] = image.seq

    def _chain(self, image: Any) -> None:
        row = row_of(image)
        definition, text = self.last.get(row, (self.definition, None))
        if row in self.maybe_forgotten:
            self.maybe_forgotten.discard(row)
            text = text if image.before is not None else None
        in_part = definition < self.definition and not self.complete.get(row)
        if text is None and (definition < self._lost or in_part):
            # It was not there: nobody knows that any more, but which columns are null. Or it was never known whole.
            assert not _there(image.before), f"before, of a row that was not there: {image}"
        elif definition < self.definition and text is not None and not values_of(text):
            # All that was known of it was a column that is gone.
            assert not _there(image.before), f"before, of a row of which nothing is known: {image}"
        elif definition == self.definition or text is None or image.before is None:
            assert image.before == text, f"before is not the last after, {text}: {image}"
        else:
            mine, theirs = json.loads(image.before), json.loads(text)
            both = mine.keys() & theirs.keys()
            assert {name: bare(mine[name]) for name in both} == {name: bare(theirs[name]) for name in both}, image
        assert image.before is not None or image.after is not None or image.op in ("delete", "expire"), image
        self._changed(image)
        if image.op == "read":
            assert image.complete, image
            assert (image.before, image.changed) == (image.after, ()), image
            assert not self.complete.get(row) or row in self.doubted, f"complete already: {image}"
        self.doubted.discard(row)
        self.complete[row] = image.complete
        self.last[row] = self.definition, image.after
        if image.after is None:
            self.rows.pop(row, None)
        else:
            self.rows[row] = image.after

    def _changed(self, image: Any) -> None:
        """What differs is in `changed`; of a complete row nothing else."""
        if image.op == "delete" and image.node is None:
            return  # of a row that lived by a dropped column, which is none of its columns any more
        before, after = (json.loads(text) if text else {} for text in (image.before, image.after))
        differing = {n for n in before.keys() | after.keys() if n not in _KEYS and before.get(n) != after.get(n)}
        told = set(image.changed or ())
        assert len(told) == len(image.changed or ()), image
        assert differing <= told, f"{differing - told} differ and are not in changed: {image}"
        if image.complete and before and before.keys() == after.keys():
            # Lists of equal values differ where they are other elements.
            alike = {name for name in told - differing if after.get(name) and isinstance(after[name], list)}
            assert told - alike == differing, f"{told - differing} do not differ: {image}"


_KEYS: Final = ("k", "x", "y", "xr", "yr")
"""Of tables of the model; the last two are the names of clustering columns that were renamed."""


def _without(text: str, columns: Container[str]) -> str:
    values = json.loads(text)
    left = {name: value for name, value in values.items() if name not in columns}
    return text if left == values else json.dumps(left)


def _there(text: str | None) -> list[str]:
    """The columns that have values."""
    return [name for name, value in values_of(text or "{}").items() if value is not None]


def values_of(text: str) -> dict[str, Any]:
    """An image's row without its key."""
    return {name: value for name, value in json.loads(text).items() if name not in _KEYS}


def bare(value: Any) -> Any:
    """A value without fields that are null: a type may have got one since."""
    return {name: each for name, each in value.items() if each is not None} if isinstance(value, dict) else value


def key_of(text: str) -> Mapping[str, Any]:
    return {name: value for name, value in json.loads(text).items() if name in _KEYS}
