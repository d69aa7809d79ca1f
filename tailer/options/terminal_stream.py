"""The options of `cdc-tail stream` that no other command has, as annotated types, and what their words mean."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from tailer.errors import UsageError

_RUN: Final = "How to run"
_SINK: Final = "Where rows go"
_WHAT: Final = "What to read"


class To(StrEnum):
    """Where rows go."""

    CONSOLE = "console"
    PARQUET = "parquet"
    DELTA = "delta"
    JDBC = "jdbc"


Folders = Annotated[str, typer.Argument(metavar="DIR", help="The log folder; or NODE=DIR,NODE=DIR for several nodes.")]
Consumer = Annotated[
    str,
    typer.Option("--consumer", metavar="NAME", help="The query's name; two queries need two.", rich_help_panel=_RUN),
]
MaxBytes = Annotated[
    str | None,
    typer.Option(
        "--max-bytes",
        metavar="BYTES",
        help="Log in one micro-batch, such as 64m. Default: 8m for the console, 64m for jdbc, else 256m.",
        rich_help_panel=_RUN,
    ),
]
MinPartitions = Annotated[
    int | None,
    typer.Option(
        "--min-partitions",
        metavar="N",
        min=1,
        help="Split a large micro-batch over at least so many tasks.",
        rich_help_panel=_RUN,
    ),
]
Progress = Annotated[
    float,
    typer.Option(
        "--progress",
        metavar="SECONDS",
        min=0,
        help="How often a line tells how far it is, where standard error is no terminal; 0: never.",
        rich_help_panel=_RUN,
    ),
]
SourceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="Any other option of the data source; may be given again.",
        rich_help_panel=_RUN,
    ),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(
        "--conf",
        metavar="NAME=VALUE",
        help="A setting of Spark's, instead of ours or besides; may be given again.",
        rich_help_panel=_RUN,
    ),
]
Typed = Annotated[
    str | None,
    typer.Option(
        "--typed", metavar="KS.TABLE", help="Only this table, in columns of its own types.", rich_help_panel=_WHAT
    ),
]
ToChoice = Annotated[To, typer.Option("--to", help="Where rows go.", rich_help_panel=_SINK)]
OutPath = Annotated[
    Path | None,
    typer.Option("--path", metavar="OUT", help="The folder for --to parquet and delta.", rich_help_panel=_SINK),
]
Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        help="The database for --to jdbc: jdbc:postgresql://HOST/DATABASE or jdbc:sqlite:FILE; user and password from "
        "CDC_TAIL_JDBC_USER and CDC_TAIL_JDBC_PASSWORD.",
        rich_help_panel=_SINK,
    ),
]
Into = Annotated[
    str | None,
    typer.Option(
        "--into", metavar="TABLE", help="The table for --to jdbc; made if it is not there.", rich_help_panel=_SINK
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="DIR",
        help="Where the query keeps its position. Default: OUT/_checkpoint for parquet and delta; --to jdbc needs one; "
        "for the console none is kept, and every run begins at --from.",
        rich_help_panel=_SINK,
    ),
]


def pairs(name: str, texts: Iterable[str] | None) -> dict[str, str]:
    """The values of an option that is given as NAME=VALUE, again and again."""
    found = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(name, expected="NAME=VALUE", found=repr(text))
        found[key] = value
    return found


def check_places(to: To, *, path: Path | None, url: str | None, into: str | None, checkpoint: Path | None) -> None:
    """That what was said of the place belongs to it, and is enough. UsageError."""
    files = to in (To.PARQUET, To.DELTA)
    if (path is not None) != files:
        raise UsageError("--path", expected="with --to parquet or delta, and only there", found=str(path))
    for name, value in (("--url", url), ("--into", into)):
        if (value is not None) != (to is To.JDBC):
            raise UsageError(name, expected="with --to jdbc, and only there", found=str(value))
    if to is To.JDBC and checkpoint is None:
        raise UsageError(
            "--to jdbc needs --checkpoint",
            remedy="Name a folder where the query keeps its position, beside other state: --checkpoint DIR.",
        )
