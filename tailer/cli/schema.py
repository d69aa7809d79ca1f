"""`cdc-tail schema`: the definitions that are known for a log folder, where they come from, and taking one back.

Showing writes nothing; `schema retract` writes one record to the journal. Parses options, and chooses what to show.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import typer
from typer.core import TyperCommand

from tailer.cli.as_owner import as_state_owner
from tailer.cli.command import command
from tailer.cli.rows import Form, output_form
from tailer.cli.standard_error import STANDARD_ERROR
from tailer.options.log_place import LogPlace
from tailer.options.to_terminal import DIR, PLACE_IF_ANY, argument
from tailer.position import Position

if TYPE_CHECKING:
    from tailer.definitions.whole_folder import Learnt
    from tailer.schema.selection import Selection
    from tailer.state.node_log import NodeLog

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


@command(
    app,
    "schema",
    {"folder": PLACE_IF_ANY},
    cls=SchemaCommand,
    epilog="Examples: cdc-tail schema /var/lib/cassandra/cdc_raw --table shop.orders --source. "
    "Take a wrong definition back: cdc-tail schema retract 12 /var/lib/cassandra/cdc_raw",
)
def schema(folder: LogPlace, at: str, source: bool, changes: bool, output: Form | None, values: dict[str, Any]) -> None:
    """Show the tables that are known for a folder: from its journal, its log, a file, a server. Writes nothing."""
    from tailer.cli.progress import progress_bar
    from tailer.definitions.whole_folder import learn
    from tailer.options.tail import tail_options
    from tailer.tail.node_log import PATIENCE_SECONDS, node_log

    options = tail_options(values)
    with contextlib.closing((log := node_log(folder, options, PATIENCE_SECONDS)).source):
        place, pretty = _position(at, log), output_form(output) == "pretty"
        learnt = learn(log, options, options.keys(), lambda logs: progress_bar("reading definitions", logs))
    for notice in learnt.notices:
        STANDARD_ERROR.notice(notice)
    if changes:
        _show_changes(learnt, options.selection, place, pretty)
    else:
        _show_tables(learnt, options.selection, place, pretty, source)
    if learnt.errors:
        raise learnt.errors[0]


_NUMBER: Final = argument(int, "The record's number, as `schema DIR --source` shows it.", metavar="N", min=1)


@command(
    _retract_app,
    "schema",
    {"number": _NUMBER, "folder": DIR},
    only=("state", "log_format", "config"),
    epilog="Example: cdc-tail schema retract 12 /var/lib/cassandra/cdc_raw",
)
def retract(number: int, folder: Path, state: Path | None) -> None:
    """Take a wrong definition back: record N of the journal has no effect any more, for every reader from now on.

    What runs already takes note when it starts again.
    """
    from tailer.cli.schema_retract import retract as run
    from tailer.state.log_folder import state_folder

    as_state_owner(folder, state_folder(folder, state))
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
    _check_named(learnt, selection, {shown.definition.name for shown in tables})


def _show_changes(learnt: Learnt, selection: Selection, at: Position | None, pretty: bool) -> None:
    from tailer.cli.schema_facts import all_names, changes_by_position
    from tailer.cli.schema_text import change_lines

    found = changes_by_position(learnt, selection, at)
    _write(change_lines(found) if pretty else (msgspec.json.encode(facts).decode() for facts in found))
    _check_named(learnt, selection, all_names(learnt))


def _check_named(learnt: Learnt, selection: Selection, known: Collection[str]) -> None:
    """A table that was named and is not known is an error, behind what could be shown of the others."""
    from tailer.definitions.named_tables import nothing_defines, undefined

    missing = undefined(selection.tables, known)
    if missing and not learnt.errors:
        raise nothing_defines(missing, learnt.history.newest.values(), may_come=False)


def _nothing(learnt: Learnt, selection: Selection) -> None:
    """Tables that were asked for and are not known are an error; without any there is nothing to say but that."""
    from tailer.definitions.named_tables import nothing_defines

    if learnt.errors:
        raise learnt.errors[0]
    if selection.tables:
        raise nothing_defines(selection.tables, learnt.history.newest.values(), may_come=False)
    STANDARD_ERROR.notice("no definition of any table is known here; give --schema FILE or --server HOST")


def _position(text: str, log: NodeLog) -> Position | None:
    """The position that a user's text names; None is the end of all that is known. An offset must be of this state."""
    from tailer.planning.named_positions import named_position
    from tailer.planning.plan import Reach

    if text == "latest":
        return None
    if (position := Position.parse(text)) is not None:
        return position
    # Neither of the other forms looks at the folder.
    offset = named_position(text, {}, lambda segment, offset, budget: Reach(offset)).offset
    log.home.journal(writable=False).check_id(offset)
    return offset.position


def _write(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
