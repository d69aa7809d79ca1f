"""Options as keywords of Python: names and values checked, paths made. Opens nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tailer.errors import UsageError
from tailer.options.cassandra_yaml import server_settings
from tailer.options.declared import TAIL
from tailer.options.sources import SETTINGS, unknown
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
    return TailOptions(program=program, **with_settings(given))


def folder_of(options: TailOptions) -> Path:
    """The log folder where none was named: that of the server's own settings. UsageError."""
    if options.cassandra_yaml is None:
        raise UsageError("no log folder", remedy="Name it, or the server's settings: cassandra_yaml=FILE.")
    return server_settings(options.cassandra_yaml).folder


def with_settings(given: dict[str, Any]) -> dict[str, Any]:
    """The options with what the server's own settings fill, where nobody gave it. UsageError."""
    if given.get(SETTINGS) is None:
        return given
    said = server_settings(given[SETTINGS]).options
    known = {option.name for option in TAIL}
    return {name: value for name, (value, _) in said.items() if name in known} | {
        name: value for name, value in given.items() if value is not None or name not in said
    }
