"""`cdc-tail write`: JSON lines from standard input into a native log. Parses options; `writer_hooks` does the rest."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Final

import typer

from tailer.errors import UsageError
from tailer.options.amounts import parse_bytes, parse_seconds

if TYPE_CHECKING:
    from writer_hooks import SegmentLog, SyncPolicy, Ticket

app = typer.Typer(add_completion=False)

_LOG: Final = "The log"
_WAITING_MAX: Final = 10_000
"""Tickets that are waited for at most: bounds what is in memory."""


@app.command(epilog="Example: cdc-tail write changes --schema shop.cql < changes.jsonl")
def write(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The log: commitlog/ and cdc_raw/ are made in it.")],
    schema: Annotated[
        Path | None, typer.Option("--schema", metavar="FILE", help="CREATE TABLE statements (CQL) of its tables.")
    ] = None,
    sync: Annotated[
        str,
        typer.Option(
            "--sync", metavar="POLICY", help="batch, group:MS or periodic:MS: when appended lines are made durable."
        ),
    ] = "batch",
    acks: Annotated[
        bool, typer.Option("--acks", help="Print each line's position (segment:offset) once it is durable.")
    ] = False,
    recover: Annotated[
        bool, typer.Option("--recover", help="Only close what a dead writer left, so that readers can go on.")
    ] = False,
    segment_size: Annotated[
        str, typer.Option("--segment-size", metavar="SIZE", help="Of a segment.", rich_help_panel=_LOG)
    ] = "32m",
    max_age: Annotated[
        str | None,
        typer.Option("--max-age", metavar="TIME", help="Finish a segment this old (30s, 5min).", rich_help_panel=_LOG),
    ] = None,
    compression: Annotated[
        str | None, typer.Option("--compression", metavar="NAME", help="lz4 or zstd.", rich_help_panel=_LOG)
    ] = None,
    cap: Annotated[
        str | None,
        typer.Option("--cap", metavar="SIZE", help="Of cdc_raw; what then, see --on-cap.", rich_help_panel=_LOG),
    ] = None,
    on_cap: Annotated[
        str,
        typer.Option("--on-cap", metavar="WHAT", help="block or drop_oldest, at the cap.", rich_help_panel=_LOG),
    ] = "block",
) -> None:
    """Write changes, a JSON object a line, to a log of one's own, which `cdc-tail follow FOLDER/cdc_raw` follows."""
    from writer_hooks import Cap, SegmentLog
    from writer_hooks.cql import read_tables

    options: dict[str, Any] = {
        "sync": _policy(sync),
        "segment_bytes": parse_bytes("--segment-size", segment_size),
        "max_age": None if max_age is None else parse_seconds("--max-age", max_age),
        "compression": compression,
        "cap": None if cap is None else Cap(parse_bytes("--cap", cap), _one_of("--on-cap", on_cap)),
    }
    if recover:
        with SegmentLog.open(folder, tables=[], **options):
            return
    if schema is None:
        raise UsageError("no --schema", remedy="Give the tables: --schema FILE, with CREATE TABLE … WITH cdc = true.")
    tables = read_tables(schema)
    folder.mkdir(parents=True, exist_ok=True)
    with SegmentLog.open(folder, tables=list(tables.values()), **options) as log:
        count = _write_lines(log, tables, sys.stdin.buffer, sys.stdout if acks else None)
    sys.stderr.write(f"{count} lines written, durable up to {log.end}\n")


def _write_lines(log: SegmentLog, tables: Any, lines: IO[bytes], acks: IO[str] | None) -> int:
    """All lines; returns when they are durable. How many there were."""
    from writer_hooks.lines import LineWriter

    writer = LineWriter(log, tables)
    number = 0
    with _Waiting(acks) as waiting:
        for number, line in _numbered(lines):
            ticket = writer.write(line, number)
            if ticket is not None:
                waiting.add(ticket)
    return number


def _numbered(lines: IO[bytes]) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(lines, 1):
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            raise UsageError(f"line {number} is not UTF-8", found=f"byte {error.start}") from None
        if line.strip():
            yield number, line


class _Waiting:
    """Waits for what was appended, in a thread of its own: the next line may be long in coming. Tells of it, if asked.

    What fails a ticket is raised at the end, or with the next ticket.
    """

    def __init__(self, acks: IO[str] | None) -> None:
        self._acks = acks
        self._tickets: queue.Queue[Ticket | None] = queue.Queue(_WAITING_MAX)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="cdc-tail-write")

    def add(self, ticket: Ticket) -> None:
        self._raise()
        self._tickets.put(ticket)

    def __enter__(self) -> _Waiting:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._tickets.put(None)
        self._thread.join()
        if exc[0] is None:
            self._raise()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        while (ticket := self._tickets.get()) is not None:
            try:
                if self._error is None:
                    ticket.wait()
                    self._tell(ticket)
            except Exception as error:
                self._error = error

    def _tell(self, ticket: Ticket) -> None:
        if self._acks is not None:
            self._acks.write(f"{ticket.position}\n")
            if self._tickets.empty():
                self._acks.flush()


def _policy(text: str) -> SyncPolicy:
    import writer_hooks

    name, _, ms = text.partition(":")
    if text == "batch":
        return writer_hooks.batch()
    if name in ("group", "periodic") and ms.isascii() and ms.isdigit() and 0 < int(ms) < 3_600_000:
        return writer_hooks.group(int(ms)) if name == "group" else writer_hooks.periodic(int(ms))
    raise UsageError("--sync", expected="batch, group:MS or periodic:MS", found=repr(text))


def _one_of(option: str, text: str) -> Any:
    if text not in ("block", "drop_oldest"):
        raise UsageError(option, expected="block or drop_oldest", found=repr(text))
    return text
