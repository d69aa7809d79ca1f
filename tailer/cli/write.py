"""`cdc-tail write`: JSON lines from standard input into a native log. Parses options; `writer_hooks` does the rest."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Literal

import typer

from tailer.cli.as_owner import as_owner
from tailer.cli.command import command
from tailer.cli.standard_error import STANDARD_ERROR
from tailer.errors import UsageError
from tailer.options.to_terminal import argument

if TYPE_CHECKING:
    from writer_hooks import SegmentLog, SyncPolicy, Ticket

app = typer.Typer(add_completion=False)

_WAITING_MAX: Final = 10_000
"""Tickets that are waited for at most: bounds what is in memory."""


_FOLDER: Final = argument(Path, "The log: commitlog/ and cdc_raw/ are made in it.", metavar="FOLDER")


@command(app, "write", {"folder": _FOLDER}, epilog="Example: cdc-tail write changes --schema shop.cql < changes.jsonl")
def write(
    folder: Path,
    schema: Path | None,
    sync: str,
    acks: bool,
    recover: bool,
    segment_size: int,
    max_age: int | None,
    compression: str | None,
    cap: int | None,
    on_cap: Literal["block", "drop_oldest"],
) -> None:
    """Write changes, a JSON object a line, to a log of one's own, which `cdc-tail follow FOLDER/cdc_raw` follows."""
    from writer_hooks import Cap, SegmentLog
    from writer_hooks.cql_tables import read_tables

    as_owner(folder)
    options: dict[str, Any] = {
        "sync": _policy(sync),
        "segment_bytes": segment_size,
        "max_age": max_age,
        "compression": compression,
        "cap": None if cap is None else Cap(cap, on_cap),
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
    STANDARD_ERROR.info(f"{count} lines written, durable up to {log.end}")


def _write_lines(log: SegmentLog, tables: Any, lines: IO[bytes], acks: IO[str] | None) -> int:
    """All lines; returns when they are durable. How many there were."""
    from writer_hooks.act_lines import LineWriter

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
    from writer_hooks import batch, group, periodic

    name, _, ms = text.partition(":")
    return batch() if name == "batch" else group(int(ms)) if name == "group" else periodic(int(ms))
