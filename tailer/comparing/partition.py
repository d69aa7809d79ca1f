"""A partition of a table as one side has it, and where two sides differ. Pure; knows neither side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

Columns = Mapping[str, bytes | None]
"""Values by column, those of the static row among them; a column that is not in there is not known."""

Clustering = bytes | None
"""A row by its framed clustering values; None: the static row of a partition that has no other."""

Kind = Literal["missing", "surplus", "value"]
"""`missing`: images have no such row, the server has; `surplus`: the other way; `value`: a column's."""


class ServedPartition(NamedTuple):
    """As the server has it. `name`: the partition's, as the state of images has it."""

    name: bytes
    rows: Mapping[Clustering, Columns]


class KnownPartition(NamedTuple):
    """As the images have it: the rows that are there, and of which others that is known.

    `whole`: a row that is not in here is not there, but for those in `unsure`. `gone`: rows that are not there, also
    where the partition is not known whole.
    """

    name: bytes
    rows: Mapping[Clustering, Columns]
    whole: bool
    unsure: frozenset[Clustering] = frozenset()
    gone: frozenset[Clustering] = frozenset()

    def may_have(self, row: Clustering) -> bool:
        """Whether a row that is not in here may be there all the same."""
        return row not in self.gone and (not self.whole or row in self.unsure)


class Difference(NamedTuple):
    """`known`, `served`: the two values where it is one of a column."""

    partition: bytes
    row: Clustering
    kind: Kind
    column: str = ""
    known: bytes | None = None
    served: bytes | None = None


def differences(
    name: bytes, known: KnownPartition | None, served: ServedPartition | None, *, whole: bool
) -> Iterator[Difference]:
    """Where the two differ. `whole`: of a table of which all is known, a partition that images have none of too."""
    if known is not None and served is not None and known.rows == served.rows:
        return
    ours = known or KnownPartition(name, {}, whole)
    theirs = {} if served is None else served.rows
    for row, columns in ours.rows.items():
        if row in theirs:
            yield from _values(name, row, columns, theirs[row])
        else:
            yield Difference(name, row, "surplus")
    for row in theirs:
        if row not in ours.rows and not ours.may_have(row):
            yield Difference(name, row, "missing")


def unknown_rows(known: KnownPartition | None, served: ServedPartition | None, *, whole: bool) -> int:
    """How many of the server's rows images can say nothing of."""
    ours = known or KnownPartition(b"", {}, whole)
    return sum(row not in ours.rows and ours.may_have(row) for row in (served.rows if served else ()))


def _values(name: bytes, row: Clustering, known: Columns, served: Columns) -> Iterator[Difference]:
    for column, value in known.items():
        if served.get(column) != value:
            yield Difference(name, row, "value", column, value, served.get(column))
