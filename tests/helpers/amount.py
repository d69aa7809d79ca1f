"""How much of what could be tried without end is tried: `CDC_TAIL_TESTS` says `some` (make test), `all` (make soak) or
`thorough` (before a release, for hours).
"""

from __future__ import annotations

import os
from typing import Final

AMOUNT: Final = os.environ.get("CDC_TAIL_TESTS", "some")
ALL: Final = AMOUNT != "some"
THOROUGH: Final = AMOUNT == "thorough"


def examples(whole: int) -> int:
    """How many random examples of a test that is meant to have `whole` of them: a sixth in `some`."""
    return {"some": max(whole // 6, 1), "all": whole, "thorough": 20 * whole}[AMOUNT]
