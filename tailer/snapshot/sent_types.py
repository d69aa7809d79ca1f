"""Whether a server's rows are of the definition that they are read by: the types that its response tells, held to those
of the log.

A column that was dropped and added again, or a table that was created again with its id, has other types on the server
as long as the log has not shown that. Its values would be read as something else, or could not be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tailer.errors import UsageError
from tailer.rebuild.table import Plan
from tailer.schema.server_rows import SentType, quoted_names
from tailer.types import CqlType


class OtherTypeError(UsageError):
    """The server has another type of a column."""


class AskedTypes:
    """Of what is asked for, in its order. `texts`: as CQL; what is no column has no type here."""

    def __init__(self, plan: Plan, texts: Sequence[str]) -> None:
        self._table = plan.table.name
        self._columns = list(_columns(plan, texts))
        self._seen: Sequence[SentType] | None = None

    def check(self, sent: Sequence[SentType]) -> None:
        """OtherTypeError where a response has another type. All that is read of one page after the other has one."""
        if sent == self._seen:
            return
        for at, name, type_, is_key in self._columns if sent else ():
            if not _fits(type_, sent[at], exactly=is_key):
                raise OtherTypeError(
                    "the server has another type of a column than the definition that the log has shown",
                    expected=f"{type_.text} in {self._table}, column {name}",
                    found=str(sent[at]),
                    remedy="If the table was altered, it is read again once the log has shown that.",
                )
        self._seen = sent


def _columns(plan: Plan, texts: Sequence[str]) -> Iterator[tuple[int, str, CqlType, bool]]:
    """The number of each column that is asked for, its name and type, and whether it is of the key."""
    key = [(column.name, column.type, True) for column in (*plan.key, *plan.clustering)]
    data = [(column.name, column.type, False) for column in plan.shown]
    known = {quoted_names([name]): (name, type_, is_key) for name, type_, is_key in (*key, *data)}
    for at, text in enumerate(texts):
        if text in known:
            yield (at, *known[text])


def _fits(type_: CqlType, sent: SentType, *, exactly: bool) -> bool:
    """Fields are told by their numbers: names may be other ones, and one side may have more. Who reads a value looks
    whether it has more; not `exactly` so in a key."""
    if type_.kind != sent.kind or type_.dimension != sent.dimension:
        return False
    known, told = type_.arguments, sent.parts
    if len(known) != len(told) and (exactly or type_.kind != "udt"):
        return False
    return all(_fits(part, other, exactly=exactly) for part, other in zip(known, told, strict=False))
