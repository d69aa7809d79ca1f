"""Names as CQL writes them. Knows no word that CQL has for itself."""

from __future__ import annotations

import re
from typing import Final

_BARE: Final = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)


def quoted_name(name: str) -> str:
    """A name in quotes, which any name may have."""
    return '"' + name.replace('"', '""') + '"'


def cql_name(name: str) -> str:
    """A name in quotes where its letters want them."""
    return name if _BARE.fullmatch(name) else quoted_name(name)
