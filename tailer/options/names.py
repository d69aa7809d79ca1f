"""Names that users choose: what they may be made of. Opens nothing."""

from __future__ import annotations

import re
from typing import Final

from tailer.errors import UsageError

NAME_WORDS: Final = "letters, digits, '.', '_' and '-', at most 100, beginning with a letter or digit"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def is_name(text: str) -> bool:
    """Whether a consumer may be called that: it becomes a file name."""
    return _NAME.fullmatch(text) is not None


def check_name(name: str) -> str:
    """The name, or UsageError."""
    if not is_name(name):
        raise UsageError("consumer name", expected=NAME_WORDS, found=repr(name))
    return name
