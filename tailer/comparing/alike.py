"""Values that print alike: a state has them as their change rows print them, a server as they were written.

What prints alike and is not of the same bytes is in `types/encode.py`. It is no difference.
"""

from __future__ import annotations

from collections import Counter

from tailer.comparing.partition import Difference
from tailer.rebuild.table import Plan
from tailer.types.texts import counted_replacements


class Alike:
    """Of one table. `replaced`: values of the server's with a U+FFFD in place of what is no character, by table and
    column."""

    def __init__(self, plan: Plan) -> None:
        self.replaced: Counter[tuple[str, str]] = Counter()
        self._table = plan.table.name
        self._json = {column.name: column.type.json for column in plan.shown}

    def __call__(self, found: Difference) -> bool:
        """Whether the two values of a difference print alike."""
        if found.known is None or found.served is None:
            return False
        json = self._json[found.column]
        try:
            with counted_replacements() as count:
                served = json(found.served)
        except ValueError:
            # A user-defined type has more fields on the server: who tells the difference says so.
            return False
        if count():
            self.replaced[self._table, found.column] += 1
        return served == json(found.known)
