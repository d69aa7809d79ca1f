"""What a user is told of definitions and of rows that are not delivered. Values in, sentences out."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from tailer.schema.model import Column, TableDefinition
from tailer.schema.selection import Selection
from tailer.types.kinds import NATIVES


class DefinitionNotices:
    """Says once per table what its definition means for its rows."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._told: set[tuple[str, str]] = set()

    def about(self, definitions: Iterable[TableDefinition]) -> Iterator[str]:
        """What is worth saying about definitions that are new or have changed."""
        for definition in definitions:
            if definition.dropped or not self._selection.wants(definition):
                continue
            if not definition.cdc and self._first(definition, "best effort"):
                yield (
                    f"{definition.name} does not capture (cdc = false): its rows are best effort, "
                    "the server deletes segments without captured changes at will"
                )
            silent = [column.name for column in definition.data_columns if _logs_no_overwrite(column)]
            if silent and self._first(definition, "overwrite"):
                yield (
                    f"{definition.name}: overwriting {', '.join(silent)} may log no deletion of the old elements "
                    "(a bug of Cassandra 4.0 to 5.0 for names that begin beyond ASCII)"
                )

    def _first(self, definition: TableDefinition, what: str) -> bool:
        fresh = (definition.id, what) not in self._told
        self._told.add((definition.id, what))
        return fresh


def _logs_no_overwrite(column: Column) -> bool:
    non_frozen = not column.type.startswith("frozen<") and ("<" in column.type or _is_user_type(column.type))
    return not column.dropped and non_frozen and column.name[:1] > "\x7f" and not column.type.startswith(_FROZEN_ALWAYS)


_FROZEN_ALWAYS = ("tuple<", "vector<")


def _is_user_type(text: str) -> bool:
    return text not in NATIVES and not text.startswith("'")


class StaleFlags:
    """Watches updates of tables that do not capture: the ALTER that switched it on may have gone with its segment.

    After a gap in ids or a restart of the server the first update of such a table is worth a warning, if its flag is
    what keeps it out.
    """

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._segment = 0
        self._suspect = False
        self._warned: set[str] = set()
        self._counted: dict[str, int] = {}

    def enter(self, segment: int, there: Sequence[int]) -> None:
        """Rows of this segment come next; `there`: the ids that the folder has, ascending."""
        if self._segment and segment > self._segment:
            between = bisect_left(there, segment) - bisect_right(there, self._segment)
            if segment - self._segment - 1 > between:
                self._suspect = True
                self._warned.clear()
        self._segment = max(segment, self._segment)

    def _kept_out_by_flag(self, known: TableDefinition) -> bool:
        return self._selection.wants(replace(known, cdc=True)) and not self._selection.wants(known)

    def about(self, skipped: Mapping[str, int], definitions: Mapping[str, TableDefinition]) -> Iterator[str]:
        """`skipped`: entries passed over so far, by table id."""
        for table, count in skipped.items():
            known = definitions.get(table)
            grew = count > self._counted.get(table, 0)
            self._counted[table] = count
            if not grew or known is None or not self._suspect or table in self._warned:
                continue
            if not self._kept_out_by_flag(known):
                continue
            self._warned.add(table)
            yield (
                f"updates of {known.name} are passed over: its last known definition says cdc = false, but segments "
                "before this one are missing and an ALTER may be among them; if it captures, give its definition "
                "with --schema FILE or --server HOST"
            )
