"""Options as keywords of Python: names and values checked, paths made. Opens nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailer.options.declared import TAIL
from tailer.options.sources import unknown
from tailer.options.tail import TailOptions


def python_options(options: Mapping[str, Any], program: str) -> TailOptions:
    """The options of a tail. UsageError for a name that does not exist and a value that it does not take."""
    known = {option.name: option for option in TAIL if option.python}
    for name in options:
        if name not in known:
            raise unknown(f"option {name!r}", name, known)
    given: dict[str, Any] = {
        # What has no value may be said to have none.
        name: None if value is None and known[name].default is None else known[name].kind.take(value, name)
        for name, value in options.items()
    }
    return TailOptions(program=program, **given)
