"""`cdc-tail options`: the value of each option of a command, and who says so. Shows what `sources.py` finds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import typer

from tailer.cli.command import command
from tailer.cli.rows import Form, output_form
from tailer.options.declared_commands import COMMANDS, options_of
from tailer.options.sources import CONFIG, SECRET, SECRET_TEXT, SETTINGS, resolve, unknown
from tailer.options.to_terminal import argument
from tailer.sinks.text import printable

app = typer.Typer(add_completion=False)

_HIDDEN: Final = "***"
_COMMAND: Final = argument(str | None, "Of this command alone.", metavar="COMMAND")


@command(
    app,
    "options",
    {"name": _COMMAND},
    epilog="Example: cdc-tail options follow --config /etc/cdc-tail.toml",
)
def options(config: Path | None, cassandra_yaml: Path | None, output: Form | None, name: str | None = None) -> None:
    """Show each option of a command with its value, and where that comes from: a file, the environment, the default."""
    if name is not None and name not in COMMANDS:
        raise unknown(f"command {name!r}", name, COMMANDS)
    files = {CONFIG: config, SETTINGS: cassandra_yaml}
    given = {option: str(file) for option, file in files.items() if file is not None}
    rows = [row for each in COMMANDS if name in (None, each) for row in _rows(each, given)]
    lines = _pretty(rows) if output_form(output) == "pretty" else (msgspec.json.encode(row).decode() for row in rows)
    sys.stdout.writelines(f"{line}\n" for line in lines)


def _rows(command: str, given: dict[str, str]) -> Iterator[dict[str, Any]]:
    found = resolve(command, given, os.environ)
    for option in options_of(command):
        value, where = found[option.name]
        yield {"command": command, "option": option.word, "value": _plain(value), "from": where}


def _plain(value: Any) -> Any:
    """As JSON has it; secrets stay hidden."""
    if isinstance(value, dict):
        return {name: _HIDDEN if SECRET.search(name) else each for name, each in value.items()}
    if isinstance(value, str) and SECRET_TEXT.search(value):
        return _HIDDEN
    return value if value is None or type(value) in (bool, int, float, str, tuple) else str(value)


def _pretty(rows: list[dict[str, Any]]) -> Iterator[str]:
    width = max(len(row["option"]) for row in rows)
    shown = [_text(row["value"]) for row in rows]
    values = min(40, max(map(len, shown)))
    before = None
    for row, value in zip(rows, shown, strict=True):
        if row["command"] != before:
            yield f"{'' if before is None else chr(10)}{row['command']}"
        before = row["command"]
        yield f"  --{row['option']:<{width}}  {printable(value):<{values}}  {printable(row['from'])}"


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={each}" for name, each in value.items()) or "-"
    if isinstance(value, tuple):
        return " ".join(value) or "-"
    return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
