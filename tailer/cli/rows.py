"""Rows and reports on standard output: in which form, and the sink for it. Knows no command."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from tailer.errors import UsageError
from tailer.sinks.base import Sink

if TYPE_CHECKING:
    from tailer.schema.typed import TypedTable
    from tailer.sinks.table_text import Tables

Form = Literal["pretty", "json", "arrow"]


def output_form(choice: Form | None) -> Form:
    """The form of rows: what was asked for, else `pretty` for people and `json` for programs."""
    if choice == "arrow" and sys.stdout.isatty():
        raise UsageError("Arrow is no text for a terminal", remedy="Send it to a file or a program.")
    return choice or ("pretty" if sys.stdout.isatty() else "json")


def open_sink(
    form: Form, tables: Tables, typed: TypedTable | None = None, *, late: bool = False, more: Sequence[str] = ()
) -> Sink:
    """The sink that writes rows in this form to standard output.

    `tables`: the definitions of their tables. `typed`: the rows are of that typed form. `late`: they come out of
    quarantine. `more`: the columns that they have behind all others.
    """
    stream = sys.stdout.buffer
    match form:
        case "json":
            from tailer.sinks.json_lines import JsonLinesSink

            return JsonLinesSink(stream)
        case "arrow":
            from tailer.sinks.arrow import ArrowSink

            return ArrowSink(stream, typed, late=late, more=more)
        case "pretty":
            from tailer.sinks.pretty import PrettySink
            from tailer.sinks.terminal import wants_colour

            return PrettySink(stream, tables, colour=wants_colour(stream, os.environ), typed=typed)
