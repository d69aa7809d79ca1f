"""One table of a state of images held to a server: opened, looked at, and told as people and programs read it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tailer.comparing.looks import Looks, Result
from tailer.comparing.partition import Clustering, Difference
from tailer.comparing.served import ServedTable
from tailer.errors import DefinitionError, UsageError
from tailer.image_state.file import reading
from tailer.image_state.identity import nodes_of, place_of, read_identity
from tailer.image_state.mend_requests import MendRow
from tailer.image_state.one_transaction import Transaction
from tailer.image_state.report import named_table
from tailer.images.store import Store
from tailer.images.tables import KnownTable
from tailer.options.token_range import TokenRange, token_range
from tailer.rebuild.changes import OWN, row_key
from tailer.rebuild.table import DataColumn
from tailer.schema.server import TIMEOUT_SECONDS, Server, Session, is_refused_query, open_session
from tailer.schema.server_place import ServerPlace
from tailer.schema.server_place import place_of as place_on_server
from tailer.schema.server_rows import Consistency, raw
from tailer.snapshot.ranges import ring_ranges, within
from tailer.snapshot.sent_types import OtherTypeError

_SAME_TABLE = "SELECT id FROM system_schema.tables WHERE keyspace_name = '{}' AND table_name = '{}'"
_DURABLE = "SELECT durable_writes FROM system_schema.keyspaces WHERE keyspace_name = '{}'"


class Told(msgspec.Struct, frozen=True):
    """A difference as it is shown: keys as JSON objects, values as JSON texts, None for null or no row."""

    kind: str
    partition_key: msgspec.Raw
    clustering: msgspec.Raw | None
    column: str | None = None
    images: msgspec.Raw | None = None
    server: msgspec.Raw | None = None


class Compared(msgspec.Struct, frozen=True):
    """`result`: what was found. `moved`: whether anything was merged meanwhile. `rows`: those that differ. `durable`:
    whether the keyspace's changes reach the log (`durable_writes`). `replaced`: values of the server's with a U+FFFD in
    place of what is no character, by table and column."""

    table: str
    result: Result
    differences: list[Told]
    seconds: float
    moved: bool
    table_id: str = ""
    rows: tuple[MendRow, ...] = ()
    durable: bool = True
    replaced: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)


def compare(folder: Path, server: Server, name: str, consistency: Consistency, settle_seconds: float) -> Compared:
    """What images in `folder` know of `keyspace.table`, and what the server says. Raises documented errors."""
    begun = time.monotonic()
    with reading(folder) as seen:
        table, before, tokens = named_table(seen, name), _places(seen), _tokens(seen, folder)
    with open_session(server) as session:
        ranges = within(ring_ranges(_place(session, server)), tokens)
        _check_same(session, server, table)
        durable = is_durable(session, name.partition(".")[0])
        asked = ServedTable(raw(session), table.plan, consistency)

        @contextmanager
        def now() -> Iterator[Store]:
            with reading(folder) as seen:
                yield seen.store

        looks = Looks(now, table, asked, lambda: int(time.time()), lambda: time.sleep(settle_seconds))
        with _refused(name):
            result = looks.all(ranges)
    with reading(folder) as seen:
        moved = _places(seen) != before
    told = [_told(table, each) for each in result.found]
    rows = tuple(dict.fromkeys(row for each in result.found for row in _rows(table, each)))
    return Compared(name, result, told, time.monotonic() - begun, moved, table.id, rows, durable, looks.alike.replaced)


@contextmanager
def _refused(name: str) -> Iterator[None]:
    """DefinitionError where the server refuses to read the table as images know it, or has other types."""
    try:
        yield
    except OtherTypeError as error:
        what = "the server has another type of a column than the definition that its images have"
        raise _other_definition(name, what, error.found, error.expected) from error
    except Exception as error:
        if not is_refused_query(error):
            raise
        what = "the server refuses to read it by the definition that its images have"
        raise _other_definition(name, what, str(error)) from error


def _other_definition(name: str, what: str, found: object, expected: object = None) -> DefinitionError:
    return DefinitionError(
        f"{name} cannot be compared: {what}",
        expected=expected,
        found=found,
        remedy="If it was altered a moment ago, compare again when `follow --image` has merged that. Else give "
        "`follow --image` the definition of now, with --server HOST or --schema FILE, and compare again.",
    )


def _place(session: Session, server: Server) -> ServerPlace:
    place = place_on_server(session, server)
    place.check_tokens(server, "tables are compared by Murmur3's tokens")
    return place


def is_durable(session: Session, keyspace: str) -> bool:
    """Whether the server writes changes of a keyspace to its commit log."""
    rows = session.execute(_DURABLE.format(keyspace), timeout=TIMEOUT_SECONDS)
    return all(row[0] is not False for row in rows)


def _check_same(session: Session, server: Server, table: KnownTable) -> None:
    """UsageError where the server's table of that name is another one."""
    keyspace, _, name = table.facts.table.name.partition(".")
    rows = session.execute(_SAME_TABLE.format(keyspace, name), timeout=TIMEOUT_SECONDS)
    found = next((str(row[0]) for row in rows), None)
    if found != table.shown_id:
        raise UsageError(
            f"{table.facts.table.name} on the server is not the table that the images are of",
            file=str(server),
            expected=f"the table with id {table.shown_id}",
            found=found or "no such table",
            remedy="Has it been dropped, or made anew? Its images say so once they are merged so far.",
        )


def _tokens(seen: Transaction, folder: Path) -> TokenRange | None:
    """Those of which the state is; None for all."""
    identity = read_identity(seen, str(folder))
    return None if identity is None else token_range(identity.tokens)


def _places(seen: Transaction) -> dict[str, object]:
    return {name: place_of(seen, name) for name in nodes_of(seen)}


def _rows(table: KnownTable, found: Difference) -> Iterator[MendRow]:
    """The row as the state has it, and the static row, which rows of its partition show."""
    if found.row is not None:
        text = None if not table.plan.clustering else f"{{{table.text.clustering(found.row)}}}"
        yield MendRow(found.partition, *row_key(table.plan, text))
    if found.row is None or table.text.static:
        yield MendRow(found.partition, OWN, b"")


def _told(table: KnownTable, found: Difference) -> Told:
    key = msgspec.Raw(f"{{{table.text.partition_key(found.partition)}}}".encode())
    clustering = _clustering(table, found.row)
    if found.kind != "value":
        return Told(found.kind, key, clustering)
    column = table.plan.columns[found.column]
    try:
        served = _text(column, found.served)
    except ValueError as error:
        # A user-defined type has more fields on the server.
        name, what = table.facts.table.name, "the server has a value that does not fit the definition of its images"
        raise _other_definition(
            name, what, str(error), f"{column.type.text} in {name}, column {column.name}"
        ) from error
    return Told(found.kind, key, clustering, found.column, _text(column, found.known), served)


def _clustering(table: KnownTable, row: Clustering) -> msgspec.Raw | None:
    text = None if row is None else table.text.clustering(row)
    return None if text is None else msgspec.Raw(f"{{{text}}}".encode())


def _text(column: DataColumn, value: bytes | None) -> msgspec.Raw | None:
    return None if value is None else msgspec.Raw(column.type.json(value).encode())
