"""Options as keywords of Python: names checked, paths made. Opens nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from tailer.errors import UsageError
from tailer.options.tail import TailOptions

_PATHS: Final = ("schema_file", "state", "keystore", "keystore_password_file", "server_ca", "server_cert")
_OWN: Final = {"tables", "start", "until", "program"}
"""Not keywords: said in a call of its own, or of nobody's choice."""


def python_options(tables: Sequence[str], options: Mapping[str, Any], program: str) -> TailOptions:
    """The options of a tail. UsageError for a name that does not exist."""
    known = {field.name for field in fields(TailOptions)} - _OWN
    unknown = sorted(set(options) - known)
    if unknown:
        raise UsageError(f"unknown option {unknown[0]!r}", remedy=f"There are: tables, {', '.join(sorted(known))}.")
    if isinstance(tables, str):
        raise UsageError("tables", expected="a sequence of names", found=repr(tables), remedy="Write tables=[...].")
    given: dict[str, Any] = {
        name: Path(value) if name in _PATHS and value is not None else value for name, value in options.items()
    }
    return TailOptions(tables=tuple(tables), program=program, **given)
