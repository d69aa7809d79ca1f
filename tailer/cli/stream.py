"""`cdc-tail stream`: a Spark query over a log folder, ready made: into the console, files, a lakehouse, a database.

Parses options, opens the session and the sink, and waits. The rows are the data source's business.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tailer.cli.as_owner import as_state_owner
from tailer.cli.command import command
from tailer.cli.monitoring import query_watch
from tailer.cli.rows import Form, output_form
from tailer.cli.standard_error import STANDARD_ERROR
from tailer.errors import UsageError
from tailer.options.to_terminal import DIRS

if TYPE_CHECKING:
    from tailer.definitions.journalled import JournalledTables
    from tailer.options.to_spark import SourceOptions
    from tailer.spark.run import SparkSession
    from tailer.spark.sinks.base import QuerySink

app = typer.Typer(add_completion=False)


@command(
    app,
    "stream",
    {"folder": DIRS},
    epilog="Example: cdc-tail stream /var/lib/cassandra/cdc_raw --to parquet --path /data/changes --consumer lake",
)
def stream(folder: str, values: dict[str, Any]) -> None:
    """Run a Spark query over a log folder: each durable change as a row, in the console, files or a database."""
    from tailer.cli.stream_images import StreamedImages
    from tailer.cli.stream_progress import progress_line
    from tailer.options.to_spark import parse_options, spark_texts
    from tailer.spark.named import check_tables
    from tailer.spark.run import needs_jvm, run_query, stop
    from tailer.spark.session import check_pyspark

    check_pyspark()
    _check_places(values)
    form = output_form(values["output"])
    if values["to"] == "console" and form == "pretty":
        # People read a decimal as it was written, with its own digits behind the point.
        values = values | {"decimals": "string"}
    images = StreamedImages.of(values)
    options = {"path": folder, **spark_texts(images.values(values)), **values["option"], **images.options}
    # Here first: what is wrong is told before the JVM has started.
    source = parse_options(options)
    images.check(source)
    _check_logs(source)
    check_tables(source)
    out, kept = values["out"], values["checkpoint"]
    with ExitStack() as stack:
        watched = stack.enter_context(query_watch(values, source))
        sink = images.sink(form, values["checkpoint"], source) or _open_sink(values, source, form)
        kept = kept or (None if out is None else out / "_checkpoint")
        where = str(kept) if kept else stack.enter_context(tempfile.TemporaryDirectory(prefix="cdc-tail-checkpoint-"))
        info = STANDARD_ERROR.info
        info(f"starting Spark; reading {folder} as consumer {source.tail.consumer}")
        stack.enter_context(needs_jvm())
        session = _open_session(values, source, {**sink.conf(), **images.settings}, sink, kept)
        stack.callback(stop, session)
        told = "checkpoint " + (where if kept else "none: the next run begins anew")
        info(f"Spark {session.version}, Python {sys.executable}, into {sink.name}, {told}")
        scrolls = values["to"] == "console" and sys.stdout.isatty()
        shown = stack.enter_context(progress_line(info, values["progress"], time.monotonic, scrolls=scrolls))
        stack.callback(shown.end)
        watch, made = watched.beside(shown.watch), partial(images.made, source=source)
        run_query(session, options, sink, where, once=values["once"], watch=watch, told=watched.told, made=made)


def _check_logs(source: SourceOptions) -> None:
    """That logs are kept in the folders that are there; from then on this process is the first one's owner."""
    from tailer.spark.present import present
    from tailer.state.log_folder import log_state, state_folder

    folders = [(node, place) for node, place in present(source) if isinstance(place, Path)]
    for _, folder in folders[:1]:
        as_state_owner(folder, state_folder(folder, source.tail.state))
    for node, folder in folders:
        log_state(folder, source.of(node, once=False).state)


def _open_session(
    values: dict[str, Any], source: SourceOptions, conf: Mapping[str, str], sink: QuerySink, checkpoint: Path | None
) -> SparkSession:
    """The session of a run, with settings by what the run is for; what the user sets is stronger."""
    from tailer.spark.purpose import purpose
    from tailer.spark.session import JVM_OPTIONS, open_session

    info, notice = STANDARD_ERROR.info, STANDARD_ERROR.notice
    conf = {**conf, **values["conf"]}
    what = purpose(source, checkpoint, once=values["once"])
    info(what.why if JVM_OPTIONS not in conf else f"the JVM compiles as --conf {JVM_OPTIONS} says")
    return open_session("cdc-tail stream", notice, packages=sink.packages(), conf=conf, tell=info, long=what.long)


def _check_places(values: dict[str, Any]) -> None:
    """That what was said of the place belongs to it, and is enough. UsageError."""
    to, by_name = values["to"], values["to"] == "iceberg" and values["into"] is not None
    given = {name: values[name] is not None for name in ("out", "url", "into")}
    if given["out"] != (to in ("parquet", "delta", "iceberg") and not by_name):
        expected = "with --to parquet, delta or iceberg (there instead of --into), and only there"
        raise UsageError("--path", expected=expected, found=values["out"])
    if given["into"] != (to == "jdbc" or by_name):
        raise UsageError("--into", expected="with --to jdbc or iceberg, and only there", found=values["into"])
    if given["url"] != (to == "jdbc"):
        raise UsageError("--url", expected="with --to jdbc, and only there", found=values["url"])
    if (to == "jdbc" or by_name) and values["checkpoint"] is None:
        raise UsageError(
            f"--to {to} --into needs --checkpoint",
            remedy="Name a folder where the query keeps its position, beside other state: --checkpoint DIR.",
        )
    if to != "console" and values["output"] is not None:
        raise UsageError("--output is for the console", remedy=f"Leave it out with --to {to}.")


def _open_sink(values: dict[str, Any], source: SourceOptions, form: Form) -> QuerySink:
    match values["to"]:
        case "parquet":
            from tailer.spark.sinks.files import ParquetSink

            return ParquetSink(values["out"], STANDARD_ERROR.notice)
        case "delta":
            from tailer.spark.sinks.delta import DeltaSink

            return DeltaSink(values["out"])
        case "iceberg":
            from tailer.spark.sinks.iceberg import IcebergSink

            return IcebergSink(values["into"] or values["out"])
        case "jdbc":
            from tailer.spark.sinks.jdbc import JdbcSink

            tail, checkpoint = source.tail, values["checkpoint"]
            key = "event_id" if tail.table is None else f"{tail.meta_prefix}event_id"
            return JdbcSink(values["url"], values["into"], key, f"{checkpoint} {tail.consumer}")
        case _:
            from tailer.cli.rows import open_sink
            from tailer.spark.form import typed_form
            from tailer.spark.sinks.console import ConsoleSink, change_rows, typed_rows

            typed = typed_form(source)
            rows = open_sink(form, _tables(source).definition, typed, more=source.tail.extra_columns)
            make = change_rows if typed is None else typed_rows(typed)
            return ConsoleSink(rows, values["checkpoint"], make, rows.close)


def _tables(source: SourceOptions) -> JournalledTables:
    """The definitions that the query journals before its rows come."""
    from tailer.definitions.journalled import JournalledTables
    from tailer.spark.present import homes

    return JournalledTables(homes(source).values(), source.tail.consumer)
