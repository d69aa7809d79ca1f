"""`cdc-tail stream`: a Spark query over a log folder, ready made: into the console, or into parquet files.

Parses options, builds the session, starts the query, and waits. The rows are the data source's business.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailer.cli.options import (
    AcceptLoss,
    AssumeFinishedAfter,
    From,
    Keystore,
    Node,
    Once,
    OnError,
    OnErrorChoice,
    Output,
    OutputChoice,
    Schema,
    SchemaChanges,
    Server,
    State,
    Stopped,
    Tables,
    output_form,
)
from tailer.errors import UsageError
from tailer.sink.text import printable

if TYPE_CHECKING:
    from tailer.spark.run import SparkSession

app = typer.Typer(add_completion=False)

_RUN = "How to run"
_SINK = "Where rows go"


class To(StrEnum):
    """Where rows go."""

    CONSOLE = "console"
    PARQUET = "parquet"


_Folders = Annotated[str, typer.Argument(metavar="DIR", help="The log folder; or NODE=DIR,NODE=DIR for several nodes.")]
_Consumer = Annotated[
    str,
    typer.Option("--consumer", metavar="NAME", help="The query's name; two queries need two.", rich_help_panel=_RUN),
]
_Option = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="Any other option of the data source; may be given again.",
        rich_help_panel=_RUN,
    ),
]
_To = Annotated[To, typer.Option("--to", help="Where rows go.", rich_help_panel=_SINK)]
_Path = Annotated[
    Path | None, typer.Option("--path", metavar="OUT", help="The folder for --to parquet.", rich_help_panel=_SINK)
]
_Checkpoint = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="DIR",
        help="Where the query keeps its position. Default: OUT/_checkpoint for parquet; for the console none is kept, "
        "and every run begins at --from.",
        rich_help_panel=_SINK,
    ),
]


@app.command(
    epilog="Example: cdc-tail stream /var/lib/cassandra/cdc_raw --to parquet --path /data/changes --consumer lake"
)
def stream(
    folder: _Folders,
    table: Tables = None,
    node: Node = "local",
    start: From = None,
    schema_changes: SchemaChanges = False,
    schema: Schema = None,
    server: Server = None,
    keystore: Keystore = None,
    consumer: _Consumer = "spark",
    state: State = None,
    once: Once = False,
    stopped: Stopped = False,
    assume_finished_after: AssumeFinishedAfter = None,
    option: _Option = None,
    on_error: OnErrorChoice = OnError.STOP,
    accept_loss: AcceptLoss = False,
    to: _To = To.CONSOLE,
    path: _Path = None,
    checkpoint: _Checkpoint = None,
    output: OutputChoice = None,
) -> None:
    """Run a Spark query over a log folder: each durable change as a row, in the console or in parquet files."""
    if (path is None) != (to is To.CONSOLE):
        raise UsageError("--path", expected="with --to parquet, and only there", found=str(path))
    if to is To.PARQUET and output is not None:
        raise UsageError("--output is for the console", remedy="Leave it out with --to parquet.")
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
            onError=on_error.value,
            failOnDataLoss="false" if accept_loss else None,
            node=None if node == "local" else node,
        ),
        **dict(_pair(text) for text in option or ()),
    }
    _run(options, path, checkpoint, once, output_form(output) if to is To.CONSOLE else None)


def _run(options: dict[str, str], path: Path | None, checkpoint: Path | None, once: bool, form: Output | None) -> None:
    from tailer.source.folder import check_folder
    from tailer.spark.options import parse_options
    from tailer.spark.run import stop
    from tailer.spark.session import open_session

    # Here first: what is wrong is told before the JVM has started.
    for _, folder in parse_options(options).folders:
        check_folder(folder)
    with ExitStack() as stack:
        kept = checkpoint or (path / "_checkpoint" if path is not None else None)
        where = str(kept) if kept else stack.enter_context(tempfile.TemporaryDirectory(prefix="cdc-tail-checkpoint-"))
        _say(f"starting Spark; reading {options['path']} as consumer {options['consumer']}")
        session = open_session("cdc-tail stream", _say)
        try:
            told = "checkpoint " + (where if kept else "none: the next run begins anew")
            _say(f"Spark {session.version}, Python {sys.executable}, {path or 'console'}, {told}")
            if path is None:
                assert form is not None
                _to_console(session, options, where, once, form)
            else:
                _to_parquet(session, options, where, once, path)
        finally:
            stop(session)


def _to_console(session: SparkSession, options: dict[str, str], checkpoint: str, once: bool, form: Output) -> None:
    from tailer.cli.rows import open_sink
    from tailer.spark.run import SinkRun

    sink = open_sink(form)
    # The rows of a micro-batch are brought here at once: it must not grow without bound.
    run = SinkRun(session, {"maxBytesPerTrigger": "8m", **options}, sink)
    run.wait(run.start(checkpoint, once=once))
    sink.close()


def _to_parquet(session: SparkSession, options: dict[str, str], checkpoint: str, once: bool, path: Path) -> None:
    from tailer.spark.run import changes, start, wait

    writer = changes(session, options).writeStream.format("parquet").option("path", str(path))
    wait(start(writer, checkpoint, once=once))


def _given(**values: object) -> dict[str, str]:
    """The options that were given, as Spark takes them."""
    return {
        name: str(value.absolute()) if isinstance(value, Path) else str(value).lower() if value is True else str(value)
        for name, value in values.items()
        if value not in (None, False, "")
    }


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError("--option", expected="NAME=VALUE", found=repr(text))
    return name, value


def _say(line: str) -> None:
    sys.stderr.write(f"cdc-tail: {printable(line)}\n")
    sys.stderr.flush()
