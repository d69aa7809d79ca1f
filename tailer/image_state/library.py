"""Whether the package is there that the state of images needs; it comes with an extra. Imports it when asked."""

from __future__ import annotations

from importlib.util import find_spec

from tailer.errors import UsageError


def check_library() -> None:
    """UsageError where it is not installed."""
    if find_spec("lmdb") is None:
        raise UsageError("images need the package lmdb", remedy="Install it: pip install 'cdc-tail[images]'.")
