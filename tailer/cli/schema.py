"""`cdc-tail schema`: the definitions that are known for a log folder, where they come from, and taking one back.

Showing writes nothing; `schema retract` writes one record to the journal. Parses options, and chooses what to show.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer
from typer.core import TyperCommand

from tailer.errors import DefinitionError
from tailer.options.terminal import (
    Dir,
    Keystore,
    KeystorePasswordFile,
    Report,
    ReportChoice,
    Schema,
    Server,
    ServerCa,
    ServerCertificate,
    State,
    key_source,
    report_form,
)
from tailer.position import Position
from tailer.sinks.text import printable

if TYPE_CHECKING:
    from tailer.definitions.whole_folder import Learnt
    from tailer.schema.selection import Selection

FULL_TABLES: Final = 10
"""More tables than this are shown one a line, unless they were named."""


class SchemaCommand(TyperCommand):
    """`schema DIR`, and `schema retract N DIR`: a first word `retract` is the other command, `./retract` a folder."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        if args[:1] == ["retract"]:
            command = typer.main.get_command(_retract_app)
            return command.make_context(f"{info_name} retract", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


app = typer.Typer(add_completion=False)
_retract_app = typer.Typer(add_completion=False)


@app.command(
    cls=SchemaCommand,
    epilog="Examples: cdc-tail schema /var/lib/cassandra/cdc_raw --table shop.orders --source. "
    "Take a wrong definition back: cdc-tail schema retract 12 /var/lib/cassandra/cdc_raw",
)
def schema(
    folder: Dir,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="KS.TABLE",
            help="Only this table; may be given again, and may hold * and ?. Default: all but the server's own.",
        ),
    ] = None,
    at: Annotated[
        str,
        typer.Option(
            "--at", metavar="POSITION", help="As of segment:offset, earliest, or a node's JSON; default: the newest."
        ),
    ] = "latest",
    source: Annotated[
        bool, typer.Option("--source", help="Tell where each definition comes from, retracted records too.")
    ] = False,
    changes: Annotated[
        bool, typer.Option("--changes", help="List what changed, by position, instead of the tables.")
    ] = False,
    schema: Schema = None,
    server: Server = None,
    server_ca: ServerCa = None,
    server_cert: ServerCertificate = None,
    keystore: Keystore = None,
    keystore_password_file: KeystorePasswordFile = None,
    state: State = None,
    output: ReportChoice = None,
) -> None:
    """Show the tables that are known for a folder: from its journal, its log, a file, a server. Writes nothing."""
    from tailer.cli.progress import progress_bar
    from tailer.definitions.whole_folder import learn
    from tailer.options.tail import TailOptions

    options = TailOptions(
        tables=tuple(table or ()),
        schema_file=schema,
        server=server,
        server_ca=server_ca,
        server_cert=server_cert,
        state=state,
    )
    place, pretty = _position(at), report_form(output) is Report.PRETTY
    learnt = learn(
        folder,
        options,
        key_source(keystore, keystore_password_file),
        lambda logs: progress_bar("reading definitions", logs),
    )
    for notice in learnt.notices:
        sys.stderr.write(f"cdc-tail: {printable(notice)}\n")
    if changes:
        _show_changes(learnt, options.selection, place, pretty)
    else:
        _show_tables(learnt, options.selection, place, pretty, source)
    if learnt.errors:
        raise learnt.errors[0]


@_retract_app.command(epilog="Example: cdc-tail schema retract 12 /var/lib/cassandra/cdc_raw")
def retract(
    number: Annotated[
        int, typer.Argument(metavar="N", help="The record's number, as `schema DIR --source` shows it.", min=1)
    ],
    folder: Dir,
    state: State = None,
) -> None:
    """Take a wrong definition back: record N of the journal has no effect any more, for every reader from now on.

    What runs already takes note when it starts again.
    """
    from tailer.cli.schema_retract import retract as run

    _write(run(folder, number, state))


def _show_tables(learnt: Learnt, selection: Selection, at: Position | None, pretty: bool, sources: bool) -> None:
    from tailer.cli.schema_facts import chosen_tables
    from tailer.cli.schema_text import full_lines, summary_lines

    tables = chosen_tables(learnt, selection, at, sources=sources)
    if not tables:
        _nothing(learnt, selection)
    if not pretty:
        _write(msgspec.json.encode(shown.facts).decode() for shown in tables)
    elif selection.tables or len(tables) <= FULL_TABLES:
        _write(full_lines(tables))
    else:
        _write(summary_lines(tables, sources=sources))


def _show_changes(learnt: Learnt, selection: Selection, at: Position | None, pretty: bool) -> None:
    from tailer.cli.schema_facts import changes_by_position
    from tailer.cli.schema_text import change_lines

    found = changes_by_position(learnt, selection, at)
    _write(change_lines(found) if pretty else (msgspec.json.encode(facts).decode() for facts in found))


def _nothing(learnt: Learnt, selection: Selection) -> None:
    """A table that was named and is not known is an error; without names there is nothing to say but that."""
    if learnt.errors:
        raise learnt.errors[0]
    if selection.tables:
        raise DefinitionError(
            f"no definition of {' or '.join(selection.tables)} is known here",
            remedy="Give definitions: --schema FILE (DESCRIBE ... WITH INTERNALS), or --server HOST.",
        )
    sys.stderr.write("cdc-tail: no definition of any table is known here; give --schema FILE or --server HOST\n")


def _position(text: str) -> Position | None:
    """The position that a user's text names; None is the end of all that is known."""
    from tailer.planning.named_positions import named_position
    from tailer.planning.plan import Reach

    if text == "latest":
        return None
    if text == "earliest" or text.lstrip().startswith("{"):
        # Neither form looks at the folder.
        return named_position(text, {}, lambda segment, offset, budget: Reach(offset)).offset.position
    position = Position.parse(text)
    if position is None:
        raise typer.BadParameter("expected segment:offset, earliest, latest, or a node's JSON", param_hint="--at")
    return position


def _write(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
