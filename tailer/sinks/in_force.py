"""The definitions that a table had, each with the place from which it counts; for sinks that write rows by definition.

A place is a pair of numbers that orders as rows do: segment and offset of a change row, `seq` and 0 of an image.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from tailer.schema.model import TableDefinition


class Version(msgspec.Struct, frozen=True):
    """A definition of a table, which counts for rows at `begins` or behind it, up to the next one."""

    begins: tuple[int, int]
    definition: TableDefinition


Versions = Callable[[str], Sequence[Version]]
"""All definitions that a table had, in order, by its id as 32 hex digits. The first one counts for earlier rows too.
Empty: the newest one counts for all rows."""


def no_versions(table_id: str) -> Sequence[Version]:
    """Of who knows only newest definitions."""
    return ()


def versions_of_images(history: Iterable[tuple[int, TableDefinition]]) -> list[Version]:
    """Definitions with the `seq` from which they count."""
    return [Version((seq, 0), definition) for seq, definition in history]
