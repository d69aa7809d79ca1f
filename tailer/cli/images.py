"""`cdc-tail images`: what is kept for a consumer's images, as a whole or of one row. Reads only, also beside a run."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import typer

from tailer.cli.command import command
from tailer.cli.rows import Form, output_form
from tailer.errors import UsageError
from tailer.options.to_terminal import DIRS
from tailer.sinks.row_text import moment
from tailer.sinks.text import aligned, printable, size_text
from tailer.typed_decode import decode_json

if TYPE_CHECKING:
    from tailer.image_state.report import StateReport
    from tailer.images.known import Known, KnownFact

app = typer.Typer(add_completion=False)


@command(
    app,
    "images",
    {"folder": DIRS},
    epilog="Example: cdc-tail images /var/lib/cassandra/cdc_raw --consumer orders --table shop.orders "
    "--key '{\"id\": 17}'",
)
def images(
    folder: str | None,
    consumer: str | None,
    state: Path | None,
    image_state: Path | None,
    of_table: str | None,
    key: str | None,
    output: Form | None,
) -> None:
    """What is kept for a consumer's images: tables, rows, bytes, places; or what is known of one row."""
    from tailer.image_state.library import check_library

    check_library()
    where = state_of(folder, consumer, state, image_state)
    pretty = output_form(output) == "pretty"
    if (of_table is None) != (key is None):
        raise UsageError("--table and --key go together", remedy="Name the row: --table KS.TABLE --key '{\"id\": 17}'.")
    from tailer.image_state.report import row_report, state_report

    if of_table is None or key is None:
        report = state_report(where)
        write_lines(_state_lines(report) if pretty else [msgspec.json.encode(report).decode()])
        return
    known = row_report(where, of_table, _key(key), int(time.time() * 1_000_000))
    write_lines(_row_lines(known) if pretty else [msgspec.json.encode(known, enc_hook=str).decode()])


def state_of(folder: str | None, consumer: str | None, state: Path | None, given: Path | None) -> Path:
    """The folder of a state of images, by what the command line says of it. UsageError."""
    from tailer.options.tail import TailOptions
    from tailer.options.to_spark import places_of
    from tailer.tail.images.run import images_folder

    if given is not None:
        return given
    if folder is None or consumer is None:
        raise UsageError(
            "whose images?", remedy="Name the log folder and its --consumer, or the folder: --image-state DIR."
        )
    options = TailOptions(consumer=consumer, state=state)
    return images_folder(places_of(folder, options.node), options, None)


def _key(text: str) -> dict[str, Any]:
    try:
        return decode_json(text, dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise UsageError("--key", expected="a JSON object of the key's columns", found=repr(text)) from error


def _state_lines(report: StateReport) -> list[str]:
    of = f", tokens {report.tokens}" if report.tokens else ""
    lines = [f"images of {report.consumer}{of}: {size_text(report.bytes)}, {report.waiting} batches not taken", ""]
    lines += aligned([["node", "place"], *([name, place or "none yet"] for name, place in report.places.items())])
    heads = ["table", "partitions", "rows", "bytes", "known", "forgotten before"]
    rows = [
        [
            printable(table.table),
            str(table.partitions),
            str(table.rows),
            size_text(table.bytes),
            "dropped" if table.dropped else "whole" if table.whole else "in part",
            "-" if table.forgotten is None else " ".join(moment(table.forgotten * 1_000_000)),
        ]
        for table in report.tables
    ]
    return [*lines, "", *aligned([heads, *rows], frozenset((1, 2, 3)))]


def _row_lines(known: Known) -> list[str]:
    absent = "not there" if known.told else "whether it is there is not known"
    shown = absent if known.shown is None else known.shown
    whole = "known whole" if known.complete else "not known whole"
    heads = ["", "fact", "column", "value", "write_ts", "expires", "nodes"]
    rows = [_fact(fact) for fact in known.facts]
    return [f"{printable(shown)}  ({whole}, seq {known.seq})", "", *aligned([heads, *rows])]


def _fact(fact: KnownFact) -> list[str]:
    value = fact.value.hex() if fact.kind != "range_gone" else f"{fact.path.hex()}..{fact.value.hex()}"
    expires = "-" if fact.expires_at is None else " ".join(moment(fact.expires_at * 1_000_000))
    counts = "" if fact.counts or not fact.of_row else "beaten"
    return [counts, fact.kind, printable(fact.column), value, str(fact.write_ts), expires, ",".join(fact.nodes)]


def write_lines(lines: list[str]) -> None:
    """Lines on standard output."""
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in lines)
