"""What all outlets make of the options of `--to`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tailer.errors import UsageError
from tailer.sinks.outlet import Bounds, OutletKey

UNNAMED: Final = "local"
"""What a node is called that nobody gave a name."""


def bounds_of(values: Mapping[str, Any]) -> Bounds:
    """When rows are committed."""
    return Bounds(values["commit_rows"], values["commit_bytes"], values["commit_seconds"])


def check_named(key: OutletKey, target: str) -> None:
    """UsageError for a node without a name, where rows of several come together."""
    if key.node == UNNAMED:
        raise UsageError(
            f"a node without a name writes to {target}, where rows of several nodes come together",
            remedy="Name it: --node NAME, or NAME=DIR for the folder.",
        )
