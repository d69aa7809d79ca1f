"""The same as `explain` for entries of a native log: why a scan of records stopped, and what helps."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from tailer.errors import DefinitionError
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared
from tailer.scan.index import Index, Status, Stopped
from tailer.scan.record.record import CHANGE, DEFINITION, KIND_IGNORABLE, STATE

_NEEDS_DEFINITION: Final = (
    "The writer puts it before the table's first row in every segment: begin at the segment's start, or put the entry "
    "aside with --on-error quarantine."
)
_PUT_ASIDE: Final = (
    "The writer made it wrong, or its bytes were damaged before the checksum was taken; put the entry aside with "
    "--on-error quarantine."
)
_NEWER: Final = "A newer cdc-tail may read it."

_WHAT: Final = {
    Status.UNKNOWN_COLUMN: ("a column that {table} has not", "one of its static or regular columns", "column {found}"),
    Status.TRUNCATED: ("a record that runs past its entry", "the end within its {size} bytes", "length {found}"),
    Status.WRONG_SIZE: ("a record that is shorter than its entry", "all {size} bytes read", "{found} left over"),
    Status.BAD_VALUE: ("a number that a change of {table} does not have there", "one within bounds", "{found}"),
    Status.WRONG_TYPE: ("a value of another type than a change has there", "what belongs there", "0x{found:02x}"),
    Status.TOO_DEEP: ("values too deep in one another", "{found} levels at most", "one more"),
    Status.UNKNOWN_KIND: (
        "a record of a kind that is not known",
        f"{DEFINITION} to {STATE} (a change is {CHANGE}), or {KIND_IGNORABLE} and more",
        "{found}",
    ),
}


def explain_record(index: Index, data: bytes, prepared: Prepared, place: Place) -> DefinitionError:
    """The error of the entry at which a scan of native entries stopped; `data`: what the index counts in."""
    stopped = index.stopped
    at = place.of(stopped.entry)
    if stopped.status == Status.UNKNOWN_TABLE:
        name = UUID(bytes=data[stopped.name_off : stopped.name_off + stopped.name_len])
        return DefinitionError(f"no definition for table {name}", at=at, remedy=_NEEDS_DEFINITION)
    what, expected, found = _WHAT[stopped.status]
    words = {"table": _table(stopped, prepared), "size": stopped.size, "found": stopped.found}
    return DefinitionError(
        what.format(**words),
        at=at,
        expected=expected.format(**words),
        found=f"{found.format(**words)} at byte {stopped.at - stopped.start}",
        remedy=_NEWER if stopped.status == Status.UNKNOWN_KIND else _PUT_ASIDE,
    )


def _table(stopped: Stopped, prepared: Prepared) -> str:
    return prepared.tables[stopped.table].definition.name if stopped.table >= 0 else "its table"
