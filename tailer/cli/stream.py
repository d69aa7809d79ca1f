"""`cdc-tail stream`: a Spark query over a log folder, ready made: into the console, files, a Delta table, a database.

Parses options, opens the session and the sink, and waits. The rows are the data source's business.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tailer.errors import UsageError
from tailer.options.terminal import (
    AcceptLoss,
    AssumeFinishedAfter,
    Decimals,
    DecimalsChoice,
    From,
    Keystore,
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
    State,
    Stopped,
    Tables,
    output_form,
    typed_output_form,
)
from tailer.options.terminal_stream import (
    Checkpoint,
    Conf,
    Consumer,
    Folders,
    Into,
    MaxBytes,
    MinPartitions,
    OutPath,
    Progress,
    SourceOption,
    To,
    ToChoice,
    Typed,
    Url,
    check_places,
    pairs,
)
from tailer.sinks.text import printable

if TYPE_CHECKING:
    from tailer.spark.sinks.base import QuerySink

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where rows go, as the command line says."""

    to: To
    path: Path | None
    url: str | None
    into: str | None
    checkpoint: Path | None
    form: Output | None
    key: str


@app.command(
    epilog="Example: cdc-tail stream /var/lib/cassandra/cdc_raw --to parquet --path /data/changes --consumer lake"
)
def stream(
    folder: Folders,
    table: Tables = None,
    node: Node = "local",
    start: From = None,
    schema_changes: SchemaChanges = False,
    typed: Typed = None,
    on_schema_change: OnSchemaChangeChoice = OnSchemaChange.FAIL,
    decimals: DecimalsChoice = Decimals.DECIMAL,
    meta_prefix: MetaPrefix = "_",
    schema: Schema = None,
    server: Server = None,
    keystore: Keystore = None,
    consumer: Consumer = "spark",
    state: State = None,
    once: Once = False,
    stopped: Stopped = False,
    assume_finished_after: AssumeFinishedAfter = None,
    max_bytes: MaxBytes = None,
    min_partitions: MinPartitions = None,
    progress: Progress = 60.0,
    option: SourceOption = None,
    conf: Conf = None,
    on_error: OnErrorChoice = OnError.STOP,
    accept_loss: AcceptLoss = False,
    to: ToChoice = To.CONSOLE,
    path: OutPath = None,
    url: Url = None,
    into: Into = None,
    checkpoint: Checkpoint = None,
    output: OutputChoice = None,
) -> None:
    """Run a Spark query over a log folder: each durable change as a row, in the console, files or a database."""
    check_places(to, path=path, url=url, into=into, checkpoint=checkpoint)
    options = {
        "path": folder,
        **_given(
            tables=",".join(table or ()),
            startingOffsets=start,
            includeSchemaChanges=schema_changes,
            schemaFile=schema,
            server=server,
            keystore=keystore,
            consumer=consumer,
            stateDir=state,
            stopped=stopped,
            assumeFinishedAfter=assume_finished_after,
            maxBytesPerTrigger=max_bytes,
            minPartitions=min_partitions,
            onError=on_error.value,
            failOnDataLoss="false" if accept_loss else None,
            node=None if node == "local" else node,
        ),
        **_typed_options(typed, on_schema_change, decimals, meta_prefix),
        **pairs("--option", option),
    }
    key = "event_id" if typed is None else f"{meta_prefix}event_id"
    place = _Place(to, path, url, into, checkpoint, _form(to, output, typed), key)
    _run(options, place, pairs("--conf", conf), progress, once)


def _form(to: To, output: Output | None, typed: str | None) -> Output | None:
    """The form of rows on standard output; None where they go elsewhere."""
    if to is To.CONSOLE:
        return output_form(output) if typed is None else typed_output_form(output)
    if output is not None:
        raise UsageError("--output is for the console", remedy=f"Leave it out with --to {to.value}.")
    return None


def _run(options: dict[str, str], place: _Place, conf: dict[str, str], every: float, once: bool) -> None:
    from tailer.cli.stream_progress import progress_line
    from tailer.options.spark import parse_options
    from tailer.segments.folder import check_folder
    from tailer.spark.run import run_query, stop
    from tailer.spark.session import open_session

    # Here first: what is wrong is told before the JVM has started.
    for _, folder in parse_options(options).folders:
        check_folder(folder)
    with ExitStack() as stack:
        sink = _open_sink(place, options)
        kept = place.checkpoint or (None if place.path is None else place.path / "_checkpoint")
        where = str(kept) if kept else stack.enter_context(tempfile.TemporaryDirectory(prefix="cdc-tail-checkpoint-"))
        _say(f"starting Spark; reading {options['path']} as consumer {options['consumer']}")
        conf = {**sink.conf(), **conf}
        session = open_session("cdc-tail stream", _say, packages=sink.packages(), conf=conf, tell=True)
        stack.callback(stop, session)
        told = "checkpoint " + (where if kept else "none: the next run begins anew")
        _say(f"Spark {session.version}, Python {sys.executable}, into {sink.name}, {told}")
        scrolls = place.to is To.CONSOLE and sys.stdout.isatty()
        shown = stack.enter_context(progress_line(_say, every, time.monotonic, scrolls=scrolls))
        stack.callback(shown.end)
        run_query(session, options, sink, where, once=once, watch=shown.watch)


def _open_sink(place: _Place, options: dict[str, str]) -> QuerySink:
    match place.to:
        case To.CONSOLE:
            from tailer.cli.rows import open_sink
            from tailer.options.spark import parse_options
            from tailer.spark.form import typed_form
            from tailer.spark.sinks.console import ConsoleSink, change_rows, typed_rows

            assert place.form is not None
            typed = typed_form(parse_options(options))
            rows = open_sink(place.form, typed)
            make = change_rows if typed is None else typed_rows(typed)
            return ConsoleSink(rows, place.checkpoint, make, rows.close)
        case To.PARQUET:
            from tailer.spark.sinks.files import ParquetSink

            assert place.path is not None
            return ParquetSink(place.path)
        case To.DELTA:
            from tailer.spark.sinks.files import DeltaSink

            assert place.path is not None
            return DeltaSink(place.path)
        case To.JDBC:
            from tailer.spark.sinks.jdbc import JdbcSink

            assert place.url is not None
            assert place.into is not None
            return JdbcSink(place.url, place.into, place.key, f"{place.checkpoint} {options['consumer']}")


def _typed_options(
    typed: str | None, on_schema_change: OnSchemaChange, decimals: Decimals, meta_prefix: str
) -> dict[str, str]:
    if typed is None:
        return {}
    return _given(
        table=typed,
        onSchemaChange=on_schema_change.value,
        decimals=decimals.value,
        metaPrefix=None if meta_prefix == "_" else meta_prefix,
    )


def _given(**values: object) -> dict[str, str]:
    """The options that were given, as Spark takes them."""
    return {
        name: str(value.absolute()) if isinstance(value, Path) else str(value).lower() if value is True else str(value)
        for name, value in values.items()
        if value not in (None, False, "")
    }


def _say(line: str) -> None:
    sys.stderr.write(f"cdc-tail: {printable(line)}\n")
    sys.stderr.flush()
