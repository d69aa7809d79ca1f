"""The options that commands share (architecture section 9), as annotated types, and what their values mean.

Parses and checks words only: positions, tables and definitions are understood by the parts that use them.
"""

from __future__ import annotations

import os
import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from tailer.errors import UsageError
from tailer.limits import SETTLE_ONCE_SECONDS, SETTLE_SECONDS
from tailer.options.tail import CommitEvery
from tailer.segments.keystore import KEY_PASSWORD_VARIABLE, PASSWORD_VARIABLE, keystore_keys
from tailer.segments.segment import KeySource, no_keys

_WHAT: Final = "What to read"
_DEFINITIONS: Final = "Where definitions and keys come from"
_RUN: Final = "How to run"
_TROUBLE: Final = "What to do in trouble"
_OUTPUT: Final = "What comes out"
_TYPED: Final = "The typed form"


class OnError(StrEnum):
    """What to do with an entry that cannot be decoded."""

    STOP = "stop"
    QUARANTINE = "quarantine"


class OnSchemaChange(StrEnum):
    """What a column means that was added or re-typed since a typed form was fixed."""

    FAIL = "fail"
    IGNORE = "ignore"


class Decimals(StrEnum):
    """What decimal and varint become in a typed form."""

    DECIMAL = "decimal"
    STRING = "string"


class Output(StrEnum):
    """The form of rows on standard output."""

    PRETTY = "pretty"
    JSON = "json"
    ARROW = "arrow"


class Report(StrEnum):
    """The form of a report, for commands that give no rows."""

    PRETTY = "pretty"
    JSON = "json"


Dir = Annotated[
    Path, typer.Argument(metavar="DIR", help="The log folder: a server's cdc_raw_directory, or a service's cdc_raw.")
]
SegmentOrDir = Annotated[
    Path, typer.Argument(metavar="PATH", help="A segment file (CommitLog-*.log), or a folder of them.")
]

Node = Annotated[str, typer.Option("--node", metavar="NAME", help="Whose log this is.", rich_help_panel=_WHAT)]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        metavar="KS.TABLE",
        help="Only this table; may be given again, and may hold * and ?. Default: every table with cdc = true.",
        rich_help_panel=_WHAT,
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="POSITION", help="segment:offset, earliest, latest, or a node's JSON.", rich_help_panel=_WHAT
    ),
]
Until = Annotated[
    str | None,
    typer.Option("--until", metavar="POSITION", help="Stop before this position.", rich_help_panel=_WHAT),
]
SchemaChanges = Annotated[
    bool,
    typer.Option("--schema-changes", help="Give changes of definitions as rows too.", rich_help_panel=_WHAT),
]

Schema = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="FILE",
        help="CQL of DESCRIBE ... WITH INTERNALS.",
        exists=True,
        dir_okay=False,
        rich_help_panel=_DEFINITIONS,
    ),
]
Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="HOST[:PORT]",
        help="A live node to ask; user and password from CDC_TAIL_CQL_USER and CDC_TAIL_CQL_PASSWORD.",
        rich_help_panel=_DEFINITIONS,
    ),
]
ServerCa = Annotated[
    Path | None,
    typer.Option(
        "--server-ca",
        metavar="FILE",
        help="Speak TLS with the node; certificates it may be signed by.",
        exists=True,
        dir_okay=False,
        rich_help_panel=_DEFINITIONS,
    ),
]
ServerCertificate = Annotated[
    Path | None,
    typer.Option(
        "--server-cert",
        metavar="FILE",
        help="Our certificate and its key, where the node asks for one.",
        exists=True,
        dir_okay=False,
        rich_help_panel=_DEFINITIONS,
    ),
]
Keystore = Annotated[
    Path | None,
    typer.Option(
        "--keystore",
        metavar="FILE",
        help=f"The server's JCEKS keystore, for an encrypted log; its password from {PASSWORD_VARIABLE}, "
        f"the key's from {KEY_PASSWORD_VARIABLE} if it differs.",
        rich_help_panel=_DEFINITIONS,
    ),
]
KeystorePasswordFile = Annotated[
    Path | None,
    typer.Option(
        "--keystore-password-file",
        metavar="FILE",
        help="The passwords from a file instead: the keystore's on its first line, the key's on its second.",
        rich_help_panel=_DEFINITIONS,
    ),
]

Consumer = Annotated[
    str | None,
    typer.Option("--consumer", metavar="NAME", help="Go on where NAME stopped, and save.", rich_help_panel=_RUN),
]
State = Annotated[
    Path | None,
    typer.Option(
        "--state",
        metavar="DIR",
        help="A private state folder, for logs on read-only mounts. Default: DIR.cdc_tail, beside the log folder.",
        rich_help_panel=_RUN,
    ),
]
Once = Annotated[bool, typer.Option("--once", help="All that is there now, then exit.", rich_help_panel=_RUN)]
Stopped = Annotated[
    bool,
    typer.Option("--stopped", help="Nobody writes here any more: every segment is finished.", rich_help_panel=_RUN),
]
AssumeFinishedAfter = Annotated[
    float | None,
    typer.Option(
        "--assume-finished-after",
        metavar="SECONDS",
        help="Take a segment for finished that did not change for so long while a higher one has a sidecar.",
        min=0,
        rich_help_panel=_RUN,
    ),
]
CommitWhen = Annotated[
    str,
    typer.Option(
        "--commit-every",
        metavar="WHEN",
        help="When the consumer's position is saved: batch, segment, '1000 rows' or '500 ms'.",
        rich_help_panel=_RUN,
    ),
]

OnErrorChoice = Annotated[
    OnError,
    typer.Option(
        "--on-error", help="An entry that cannot be decoded stops, or is kept aside.", rich_help_panel=_TROUBLE
    ),
]
AcceptLoss = Annotated[
    bool,
    typer.Option("--accept-loss", help="Go on behind lost data, and record the loss.", rich_help_panel=_TROUBLE),
]
Settle = Annotated[
    float | None,
    typer.Option(
        "--settle",
        metavar="SECONDS",
        help="How long promised bytes may stay invisible before the log counts as corrupt. "
        f"Default: {SETTLE_SECONDS:.0f}, with --once {SETTLE_ONCE_SECONDS:.0f}.",
        envvar="CDC_TAIL_SETTLE",
        min=0,
        rich_help_panel=_TROUBLE,
    ),
]

OutputChoice = Annotated[
    Output | None,
    typer.Option("--output", help="Default: pretty on a terminal, else json.", rich_help_panel=_OUTPUT),
]
Typed = Annotated[
    str | None,
    typer.Option(
        "--typed",
        metavar="KS.TABLE",
        help="Only this table, in columns of its own types; with --output json or arrow.",
        rich_help_panel=_TYPED,
    ),
]
OnSchemaChangeChoice = Annotated[
    OnSchemaChange,
    typer.Option(
        "--on-schema-change",
        help="A column added or re-typed since the start stops the run, or is left out and counted.",
        rich_help_panel=_TYPED,
    ),
]
DecimalsChoice = Annotated[
    Decimals,
    typer.Option("--decimals", help="decimal and varint as numbers of 38 digits, or as text.", rich_help_panel=_TYPED),
]
MetaPrefix = Annotated[
    str,
    typer.Option(
        "--meta-prefix",
        metavar="TEXT",
        help="What the names of the change's own columns begin with.",
        rich_help_panel=_TYPED,
    ),
]

ReportChoice = Annotated[
    Report | None,
    typer.Option("--output", help="Default: pretty on a terminal, else json.", rich_help_panel=_OUTPUT),
]

_COMMIT: Final = re.compile(r"(\d{1,9})\s*(rows?|ms)", re.ASCII)


def commit_every(text: str) -> CommitEvery:
    """`batch`, `segment`, `N rows` or `N ms`; UsageError for anything else."""
    if text == "batch":
        return CommitEvery("batch")
    if text == "segment":
        return CommitEvery("segment")
    match = _COMMIT.fullmatch(text)
    if match is None or int(match[1]) == 0:
        raise UsageError("--commit-every", expected="batch, segment, '1000 rows' or '500 ms'", found=repr(text))
    return CommitEvery("ms" if match[2] == "ms" else "rows", int(match[1]))


def settle_seconds(settle: float | None, *, once: bool) -> float:
    """The seconds of `--settle`, or the default of this way of running."""
    if settle is not None:
        return settle
    return SETTLE_ONCE_SECONDS if once else SETTLE_SECONDS


def output_form(choice: Output | None) -> Output:
    """The form of rows: what was asked for, else `pretty` for people and `json` for programs."""
    if choice is Output.ARROW and sys.stdout.isatty():
        raise UsageError("Arrow is no text for a terminal", remedy="Send it to a file or a program.")
    return choice or (Output.PRETTY if sys.stdout.isatty() else Output.JSON)


def typed_output_form(choice: Output | None) -> Output:
    """The form of typed rows: `json` unless `arrow` was asked for."""
    if choice is Output.PRETTY:
        raise UsageError("typed rows have no pretty form", remedy="Use --output json or --output arrow.")
    return Output.JSON if choice is None else output_form(choice)


def report_form(choice: Report | None) -> Report:
    """The form of a report, by the same rule."""
    return choice or (Report.PRETTY if sys.stdout.isatty() else Report.JSON)


def key_source(keystore: Path | None, password_file: Path | None) -> KeySource:
    """Where keys of encrypted segments come from; without a keystore there are none."""
    return no_keys if keystore is None else keystore_keys(keystore, password_file, os.environ)
