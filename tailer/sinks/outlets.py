"""Which outlet a `--to` means: scheme, module, and the extra that brings what it needs. Imports one when asked."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple

from tailer.errors import UsageError
from tailer.sinks.outlet import Outlet, OutletContext


class Kind(NamedTuple):
    """`module` has `open_outlet(to, values, context)`. `extra`: of the package; None where a plain install has all."""

    module: str
    extra: str | None = None
    example: str = ""


OUTLETS: Final[Mapping[str, Kind]] = {
    "files": Kind("tailer.sinks.files.outlet", example="files:DIR"),
    "kafka": Kind("tailer.sinks.kafka.outlet", "kafka"),
    "sqlite": Kind("tailer.sinks.database.sqlite", example="sqlite:FILE"),
    "postgresql": Kind("tailer.sinks.database.postgresql", "postgresql", "postgresql://HOST/DATABASE"),
    "duckdb": Kind("tailer.sinks.database.duckdb", "duckdb", "duckdb:FILE"),
    "delta": Kind("tailer.sinks.deltalake.outlet", "deltalake", "delta:DIR"),
}
"""By what stands before the first colon."""


def _scheme(to: str) -> str:
    return to.partition(":")[0]


def check_to(to: str) -> None:
    """UsageError for what means no outlet."""
    if _scheme(to) not in OUTLETS:
        known = " or ".join(each.example or name for name, each in OUTLETS.items())
        raise UsageError("--to", expected=known, found=repr(to))


def open_outlet(to: str, values: Mapping[str, Any], context: OutletContext) -> Outlet:
    """The outlet of a `--to`, not connected yet. `values`: the command's options. UsageError."""
    check_to(to)
    kind = OUTLETS[_scheme(to)]
    try:
        module = import_module(kind.module)
    except ImportError as error:
        if kind.extra is None:
            raise
        raise UsageError(
            f"--to {_scheme(to)} needs the package {error.name}",
            remedy=f"Install it: pip install 'cdc-tail[{kind.extra}]'.",
        ) from error
    opened: Outlet = module.open_outlet(to, values, context)
    return opened
