"""A range of tokens, as users say it: several processes share a cluster, each with its own partitions. A value."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_RANGE: Final = re.compile(r"(-?\d{1,19})\.\.(-?\d{1,19})")
_LEAST, _MOST = -(2**63), 2**63 - 1


class TokenRange(NamedTuple):
    """Both ends belong to it."""

    first: int
    last: int

    def has(self, token: int | None) -> bool:
        """Whether a row is to be merged; one without a token is of a whole table."""
        return token is None or self.first <= token <= self.last


def token_range(text: str) -> TokenRange | None:
    """The range of a text `A..B`; None for a text that is none."""
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        return None
    made = TokenRange(int(found[1]), int(found[2]))
    return made if _LEAST <= made.first <= made.last <= _MOST else None
