"""How far a segment was searched for definitions that are in the journal: a value that is kept beside them.

A program that knows nothing of it searches again.
"""

from __future__ import annotations

from typing import Final

import msgspec

RULES: Final = 1
"""By which rules a segment is searched; one more where a later version finds what earlier ones have passed by."""


class Learnt(msgspec.Struct, frozen=True, omit_defaults=True):
    """The definitions in a segment's sections up to the edge `end` are in the journal; `at`: its offset in the file.

    `begin`: what stands before it was left out; 0 for nothing. `rules`: see `RULES`. `j`: so many records the journal
    had by then, where it is not the journal that says this.
    """

    segment: int
    end: int
    at: int
    begin: int = 0
    rules: int = 1
    j: int = 0

    def says_more(self, other: Learnt | None) -> bool:
        """Whether it spares somebody a walk that another one does not."""
        return other is None or self.rules > other.rules or self.end > other.end or self.begin < other.begin
