"""A history whose images are checked as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from tests.helpers.images.checks import check_dropped, check_entry, check_expired, check_known
from tests.helpers.images.ledger import Unit
from tests.helpers.images.logged import Entry
from tests.helpers.images.seen import TABLE_WIDE, Row, Seen, values_of
from tests.helpers.images.story import Altered, Story
from tests.helpers.images.tables import STATIC, Key, ModelTable


class Merges(Protocol):
    """What is held to the model. `table`: as the model has it."""

    def define(self, table: ModelTable, now_us: int) -> list[Any]: ...
    def entry(self, changes: list[dict[str, Any]], now_us: int) -> list[Any]: ...
    def expire(self, now_us: int) -> list[Any]: ...
    def forget(self, now_us: int, read_past: Mapping[str, int]) -> None: ...
    def lost(self, now_us: int) -> None: ...
    def opened_anew(self) -> None: ...
    def late_facts(self) -> int: ...
    def partitions(self) -> set[int]: ...
    def held(self) -> Iterator[tuple[bytes, bytes, bytes]]: ...
    def shown(self, k: int, key: Key) -> tuple[bool, str | None]: ...
    def kept_rows(self) -> set[Row]: ...


Make = Callable[[ModelTable, list[str], bool, int], Merges]


class Checked(Story):
    """`make`: a merger for the nodes named, of a table that was or was not read from its CREATE on."""

    def __init__(self, table: ModelTable, make: Make, **how: Any) -> None:
        super().__init__(table, **how)
        self.merger = make(table, list(self.next), self.ledger.whole, self.now_us)
        self.seen = Seen()
        self.images: list[Any] = []

    def _take(self, images: list[Any]) -> None:
        self.images += images
        self.seen.take(images, self.now_us)

    def merge(self, entry: Entry) -> list[Unit]:
        images = self.merger.entry(entry.rows(self.cluster.table), self.now_us)
        units = super().merge(entry)
        self._take(images)
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
        self._take(images)
        check_expired(images, units)
        self.check_fold()
        return units

    def _alter(self, table: ModelTable) -> Altered:
        expired, dropped = super()._alter(table)
        images = self.merger.define(table, self.now_us)
        self._take(images)
        assert [image.op for image in images if image.op in TABLE_WIDE] == ["schema"], images
        behind = [image.op for image in images].index("schema")
        check_expired(images[:behind], expired)
        check_dropped(images[behind:], dropped)
        self.seen.without(table.dropped)
        return expired, dropped

    def forget(self) -> None:
        before = self.merger.partitions()
        self.merger.forget(self.now_us, self.read_past())
        self.seen.forget(before - self.merger.partitions())

    def reopen(self) -> None:
        self.merger.opened_anew()

    def lose(self) -> None:
        super().lose()
        self.seen.lose()
        self.merger.lost(self.now_us)

    def settle(self) -> None:
        """After that only what lives is kept: of each row, and of each partition beside them."""
        super().settle()
        kept = self.merger.kept_rows()
        static = {row for row in self.known() if row[1] == STATIC and self.merger.shown(*row)[1] is not None}
        self.ledger.forgot(kept | static, self.merger.partitions())
        if self.ledger.whole:
            assert kept == {row for row in self.seen.rows if row[1] != STATIC}, kept
            assert self.merger.partitions() == {k for k, _ in self.seen.rows}

    def check_fold(self) -> None:
        """The fold of `after` is every row that is known to be there."""
        known = self.known()
        there = {row for row, shown in known.items() if shown.there}
        rows = self.seen.rows
        assert there <= rows.keys(), f"not in the fold: {there - rows.keys()}"
        for row, text in rows.items():
            shown = known.get(row) or self.ledger.shown(*row, self.now)
            if row in self.seen.maybe_forgotten and not shown.there:
                continue
            assert shown.there is not False, f"in the fold and not there: {row} {text}"
            values = self._columns(row[1], text, shown.complete)
            if shown.complete:
                assert values == shown.values, (row, text, shown)
            else:
                check_known(values, shown)

    def _columns(self, key: Key, text: str, complete: bool) -> dict[str, Any]:
        """By the table's newest columns, some of which no image of the row may have had yet."""
        new = [column.name for column in self.cluster.table.shown(key)] if complete and self.seen.definition else ()
        return {**dict.fromkeys(new), **values_of(text)}

    def check_agrees(self) -> None:
        """Where reading began in the middle: a row that is known whole is that of SELECT at ALL; of another one each
        value that was written since, whatever was before.
        """
        selected = self.selected()
        for row, shown in self.known().items():
            now = selected.get(row)
            if shown.complete:
                assert (now is not None) == (row in self.seen.rows), (row, now)
                assert now is None or self._columns(row[1], self.seen.rows[row], True) == now, row
            elif row in self.seen.rows:
                values = self._columns(row[1], self.seen.rows[row], False)
                for name in self._written_since(row):
                    assert values[name] == (now or {}).get(name), (row, name, now)

    def _written_since(self, row: Row) -> set[str]:
        facts = self.ledger.standing(row[0]).rows[row[1]]
        columns = {fact.column: self.ledger.table.column(fact.column) for fact in facts if fact.column}
        return {
            fact.column
            for fact in facts
            if fact.column and fact.ts >= self.ledger.since and not columns[fact.column].counter
            if fact.kind == "complex" or not columns[fact.column].complex
        }

    def check_select(self) -> None:
        """When all was read, the fold is what SELECT at ALL shows."""
        folded = {row: self._columns(row[1], text, True) for row, text in self.seen.rows.items()}
        assert folded == self.selected()
