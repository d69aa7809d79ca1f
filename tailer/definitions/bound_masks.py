"""Masks by the ids of their tables: a definition that has a masked table under another name hides as much.

Cassandra renames no table, so such a definition is false. Whoever gave it sees no value by it.
"""

from __future__ import annotations

from tailer.definitions.history import DefinitionHistory
from tailer.schema.masks import Masks


class BoundMasks:
    """Those of one run, by a history of definitions, which may grow in between."""

    def __init__(self, history: DefinitionHistory) -> None:
        self._history = history
        self._version: tuple[int, int] | None = None
        self._names: list[tuple[str, ...]] = []
        self._made: tuple[Masks, Masks] | None = None

    def of(self, masks: Masks) -> Masks:
        """The masks, and the same ones under each other name that the id of one of their tables has or had."""
        if not masks:
            return masks
        if self._version != self._history.version:
            self._version, self._made = self._history.version, None
            names: dict[str, set[str]] = {}
            for event in self._history.events:
                for held in event.changed.values():
                    names.setdefault(held.id, set()).add(held.name)
            self._names = [tuple(sorted(each)) for each in names.values() if len(each) > 1]
        if self._made is None or self._made[0] != masks:
            self._made = masks, masks.under(self._names)
        return self._made[1]
