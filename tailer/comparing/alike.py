"""Values of different bytes and the same JSON text. They are equal: the image state has values as change rows print
them, the server has the bytes that were written. `types/encode.py` lists where the two differ.
"""

from __future__ import annotations

from collections import Counter

from tailer.comparing.partition import Difference
from tailer.rebuild.table import Plan
from tailer.types.texts import counted_replacements


class Alike:
    """Compares values of one table. `replaced`: by table and column, the number of server values in which U+FFFD
    replaces bytes that are no character."""

    def __init__(self, plan: Plan) -> None:
        self.replaced: Counter[tuple[str, str]] = Counter()
        self._table = plan.table.name
        self._json = {column.name: column.type.json for column in plan.shown}

    def __call__(self, found: Difference) -> bool:
        """Whether the two values of a difference have the same JSON text."""
        if found.known is None or found.served is None:
            return False
        json = self._json[found.column]
        try:
            with counted_replacements() as count:
                served = json(found.served)
        except ValueError:
            # A user-defined type has more fields on the server. The report of the difference raises that (`run._told`).
            return False
        if count():
            self.replaced[self._table, found.column] += 1
        return served == json(found.known)
