"""`cdc-tail follow`: the changes of a log folder on standard output. Parses options, opens a tail, chooses a sink."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

import typer

from tailer.cli.rows import open_sink
from tailer.options.terminal import (
    AcceptLoss,
    AssumeFinishedAfter,
    CommitWhen,
    Consumer,
    Decimals,
    DecimalsChoice,
    Dir,
    From,
    Keystore,
    KeystorePasswordFile,
    MetaPrefix,
    Node,
    Once,
    OnError,
    OnErrorChoice,
    OnSchemaChange,
    OnSchemaChangeChoice,
    Output,
    OutputChoice,
    Schema,
    SchemaChanges,
    Server,
    ServerCa,
    ServerCertificate,
    Settle,
    State,
    Stopped,
    Tables,
    Typed,
    Until,
    commit_every,
    output_form,
    settle_seconds,
    typed_output_form,
)
from tailer.sinks.text import printable

if TYPE_CHECKING:
    from tailer.options.tail import CommitEvery, TailOptions

_ALLOCATIONS: Final = 50_000
"""Objects made and not yet freed, from one collection to the next; Python's own 700 is less than a batch of rows."""

app = typer.Typer(add_completion=False)


@app.command(
    epilog="Example: cdc-tail follow /var/lib/cassandra/cdc_raw --consumer billing --table 'shop.*' --output json"
)
def follow(
    folder: Dir,
    table: Tables = None,
    node: Node = "local",
    start: From = None,
    until: Until = None,
    schema_changes: SchemaChanges = False,
    typed: Typed = None,
    on_schema_change: OnSchemaChangeChoice = OnSchemaChange.FAIL,
    decimals: DecimalsChoice = Decimals.DECIMAL,
    meta_prefix: MetaPrefix = "_",
    schema: Schema = None,
    server: Server = None,
    server_ca: ServerCa = None,
    server_cert: ServerCertificate = None,
    keystore: Keystore = None,
    keystore_password_file: KeystorePasswordFile = None,
    consumer: Consumer = None,
    state: State = None,
    once: Once = False,
    stopped: Stopped = False,
    assume_finished_after: AssumeFinishedAfter = None,
    commit: CommitWhen = "batch",
    on_error: OnErrorChoice = OnError.STOP,
    accept_loss: AcceptLoss = False,
    settle: Settle = None,
    output: OutputChoice = None,
) -> None:
    """Follow a log folder: each durable change as a row on standard output, in log order."""
    from tailer.options.tail import TailOptions

    form = output_form(output) if typed is None else typed_output_form(output)
    every = commit_every(commit)
    options = TailOptions(
        node=node,
        tables=tuple(table or ()),
        schema_file=schema,
        server=server,
        server_ca=server_ca,
        server_cert=server_cert,
        state=state,
        consumer=consumer,
        keystore=keystore,
        keystore_password_file=keystore_password_file,
        start=start or "earliest",
        until=until,
        stopped=stopped,
        assume_finished_after=assume_finished_after,
        settle_seconds=settle_seconds(settle, once=once),
        on_error=on_error.value,
        accept_loss=accept_loss,
        schema_changes=schema_changes,
        table=typed,
        on_schema_change=on_schema_change.value,
        decimals=decimals.value,
        meta_prefix=meta_prefix,
        case_sensitive=True,
        program="cdc-tail follow",
    )
    _run(folder, options, once, every, form)


def _run(folder: Path, options: TailOptions, once: bool, every: CommitEvery, form: Output) -> None:
    from tailer.tail.follow import follow as run
    from tailer.tail.tail import Tail

    with Tail(folder, options) as tail, _gently() as stopping, _rare_collections():
        sink = open_sink(form, tail.typed)
        run(tail, sink, once=once, commit_every=every, say=_say, stopping=lambda: stopping[0])
        sink.close()


def _say(line: str) -> None:
    sys.stderr.write(f"cdc-tail: {printable(line)}\n")
    sys.stderr.flush()


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Rows die by their reference counts: the collector of cycles would walk them for nothing, and rows wait for it."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextmanager
def _gently() -> Iterator[list[bool]]:
    """SIGTERM ends the run behind the batch in hand, with its position saved."""
    stopping = [False]

    def stop(number: int, frame: FrameType | None) -> None:
        stopping[0] = True

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield stopping
    finally:
        signal.signal(signal.SIGTERM, before)
