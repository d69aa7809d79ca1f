"""Names that users choose: what they may be made of. Opens nothing."""

from __future__ import annotations

import re
from typing import Final

from tailer.errors import UsageError

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check_name(name: str) -> str:
    """The name, or UsageError: it becomes a file name."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            "consumer name",
            expected="letters, digits, '.', '_' and '-', at most 100, beginning with a letter or digit",
            found=repr(name),
        )
    return name
