"""A command of the terminal: its options from the table, and the form of its sentences chosen before it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import typer

from tailer.cli.standard_error import STANDARD_ERROR
from tailer.options import to_terminal
from tailer.options.to_terminal import Arguments, Function


def command(
    app: typer.Typer, name: str, arguments: Arguments, *, only: Iterable[str] = (), **words: Any
) -> Callable[[Function], Function]:
    """`to_terminal.command`."""
    return to_terminal.command(app, name, arguments, STANDARD_ERROR.choose, only=only, **words)
