"""Turns a scan's status, or a value that does not fit, into the documented error with what, where, expected, found."""

from __future__ import annotations

from typing import Final, NamedTuple
from uuid import UUID

from tailer.errors import DefinitionError, OddKeyError, OtherKeyError, UnknownTableError
from tailer.position import Position
from tailer.rows.generic.build import ValueFault
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared
from tailer.scan.index import Index, Status, Stopped

_GIVE_SCHEMA: Final = "Give its definition with --schema FILE (DESCRIBE KEYSPACE … WITH INTERNALS) or --server HOST."
_OR_ASIDE: Final = (
    " Or put the entries of this table aside with --quarantine-table {table} (quarantineTables in Spark), and read on."
)
_CHECK_SCHEMA: Final = (
    "The definition in use is not the one that wrote this: see `cdc-tail schema --source`, and give the right one with "
    "--schema FILE or --server HOST; or put the entry aside with --on-error quarantine."
)

_NEW_COLUMN: Final = (
    "Start again with the new definition, or go on without such columns with on_schema_change=ignore "
    "(--on-schema-change ignore; onSchemaChange=ignore in Spark)."
)
_OTHER_KEY: Final = (
    "This is an earlier table of the same name with another key: read it in the generic form (--table), "
    "or begin where `cdc-tail schema` says that the table of now is known since (--from; startingOffsets in Spark)."
)

_ODD_KEY: Final = (
    "With --odd-keys escape (oddKeys in Spark, odd_keys in Python) such keys are delivered as their bytes."
)

_WHAT: Final = {
    Status.TRUNCATED: (
        "a mutation that runs past its entry",
        "the end within its {size} bytes",
        "length or count {found}",
    ),
    Status.WRONG_SIZE: ("a mutation that is shorter than its entry", "all {size} bytes read", "{found} left over"),
    Status.BAD_FLAGS: ("flags that do not occur in a mutation", "known flags", "0x{found:02x}"),
    Status.BAD_VALUE: ("a number that does not occur there in a mutation", "one within bounds", "{found}"),
    Status.UNPAIRED_BOUND: ("a range tombstone bound without its other half", "bounds in pairs", "bound kind {found}"),
}


def explain(index: Index, data: bytes, prepared: Prepared, place: Place) -> DefinitionError:
    """The error of the entry at which the scan of `data` stopped (`index.stopped`, which is not OK)."""
    stopped = index.stopped
    at = place.of(stopped.entry)
    name = data[stopped.name_off : stopped.name_off + stopped.name_len]
    table = _table_name(stopped, prepared)
    if stopped.status == Status.UNKNOWN_TABLE:
        return unknown_table(name, at, beside_known=stopped.kept_inside)
    if stopped.status == Status.UNKNOWN_COLUMN:
        column = name.decode(errors="replace")
        return DefinitionError(f'no definition for column "{column}" of {table}', at=at, remedy=_GIVE_SCHEMA)
    what, expected, found = _WHAT[stopped.status]
    where = f"byte {stopped.at - stopped.start}"
    return DefinitionError(
        f"{what}, by the definition of {table}",
        at=at,
        expected=expected.format(size=stopped.size),
        found=f"{found.format(found=stopped.found)} at {where}",
        remedy=_CHECK_SCHEMA,
    )


def unknown_table(id: bytes, at: Position, *, beside_known: bool) -> UnknownTableError:
    """The error of an entry whose table no definition names."""
    table = UUID(bytes=id)
    remedy = _GIVE_SCHEMA + _OR_ASIDE.format(table=table)
    error = UnknownTableError(f"no definition for table {table}", at=at, remedy=remedy)
    error.table, error.beside_known = table.hex, beside_known
    return error


def explain_value(fault: ValueFault, place: Place) -> DefinitionError:
    """The error of an entry with a value that is none of its type, or with a key that is not delivered."""
    if fault.odd_key:
        return OddKeyError(
            "a key whose text Cassandra accepts and UTF-8 does not",
            at=place.of(fault.entry),
            found=fault.reason,
            remedy=_ODD_KEY,
        )
    return DefinitionError(
        "a value that does not fit its type", at=place.of(fault.entry), found=fault.reason, remedy=_CHECK_SCHEMA
    )


class Misfit(NamedTuple):
    """The first entry that needs what a typed form has no place for, and what that is; `in_key`: a key of its own."""

    entry: int
    what: str
    in_key: bool = False


def explain_misfit(misfit: Misfit, table: str, place: Place) -> DefinitionError:
    """The error of that entry: the table is no longer what the typed form was made for."""
    what = f"{table} has {misfit.what}, for which this run's typed form has no place: its definition has changed"
    at = place.of(misfit.entry)
    if not misfit.in_key:
        return DefinitionError(what, at=at, remedy=_NEW_COLUMN)
    error = OtherKeyError(what, at=at, remedy=_OTHER_KEY)
    error.table = table
    return error


def _table_name(stopped: Stopped, prepared: Prepared) -> str:
    return prepared.tables[stopped.table].definition.name if stopped.table >= 0 else "its table"
