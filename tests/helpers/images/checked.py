"""A history whose images are checked as they come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tests.helpers.images.checks import check_dropped, check_entry, check_expired, check_known
from tests.helpers.images.ledger import Unit
from tests.helpers.images.logged import Entry
from tests.helpers.images.seen import TABLE_WIDE, Seen, values_of
from tests.helpers.images.story import Story
from tests.helpers.images.tables import Key, ModelTable


class Merges(Protocol):
    """What is held to the model. `table`: as the model has it."""

    def define(self, table: ModelTable, now_us: int) -> list[Any]: ...
    def entry(self, changes: list[dict[str, Any]], now_us: int) -> list[Any]: ...
    def expire(self, now_us: int) -> list[Any]: ...
    def forget(self, now_us: int, read_past: Mapping[str, int]) -> None: ...
    def lost(self, now_us: int) -> None: ...
    def partitions(self) -> set[int]: ...


Make = Callable[[ModelTable, list[str], bool, int], Merges]


class Checked(Story):
    """`make`: a merger for the nodes named, of a table that was or was not read from its CREATE on."""

    def __init__(self, table: ModelTable, make: Make, **how: Any) -> None:
        super().__init__(table, **how)
        self.merger = make(table, list(self.next), self.ledger.whole, self.now_us)
        self.seen = Seen()

    def merge(self, entry: Entry) -> list[Unit]:
        images = self.merger.entry(entry.rows(self.cluster.table), self.now_us)
        units = super().merge(entry)
        self.seen.take(images, self.now_us)
        wide = [image.op for image in images if image.op in TABLE_WIDE]
        assert wide == ["truncate"] * entry.truncates, images
        check_expired([image for image in images if image.node is None], units)
        caused = [image for image in images if image.node is not None and image.op not in TABLE_WIDE]
        check_entry(caused, entry, units)
        return units

    def look(self) -> list[Unit]:
        """Timers; then the fold of all images is what is known."""
        images = self.merger.expire(self.now_us)
        units = super().look()
        self.seen.take(images, self.now_us)
        check_expired(images, units)
        self.check_fold()
        return units

    def _alter(self, table: ModelTable) -> list[Unit]:
        units = super()._alter(table)
        images = self.merger.define(table, self.now_us)
        self.seen.take(images, self.now_us)
        assert [image.op for image in images if image.op in TABLE_WIDE] == ["schema"], images
        check_dropped(images, units)
        return units

    def forget(self) -> None:
        before = self.merger.partitions()
        self.merger.forget(self.now_us, self.read_past())
        gone = before - self.merger.partitions()
        assert not gone & {k for k, _ in self.seen.rows}, f"of {gone} there were rows that live"
        self.seen.forgotten |= gone

    def lose(self) -> None:
        super().lose()
        self.merger.lost(self.now_us)

    def check_fold(self) -> None:
        """The fold of `after` is every row that is known to be there."""
        known = self.known()
        there = {row for row, shown in known.items() if shown.there}
        rows = self.seen.rows
        assert there <= rows.keys(), f"not in the fold: {there - rows.keys()}"
        for row, text in rows.items():
            shown = known.get(row) or self.ledger.shown(*row, self.now)
            assert shown.there is not False, f"in the fold and not there: {row} {text}"
            values = self._columns(row[1], text)
            if shown.complete:
                assert values == shown.values, (row, text, shown)
            else:
                check_known(values, shown)

    def _columns(self, key: Key, text: str) -> dict[str, Any]:
        """By the table's newest columns, which no image may have had yet."""
        values = values_of(text)
        names = [column.name for column in self.cluster.table.shown(key)]
        if not self.seen.definition:
            return values
        new = dict.fromkeys(names) if self.ledger.whole else {}
        return {**new, **{name: value for name, value in values.items() if name in names}}

    def check_select(self) -> None:
        """When all was read, the fold is what SELECT at ALL shows."""
        folded = {row: self._columns(row[1], text) for row, text in self.seen.rows.items()}
        assert folded == self.selected()
