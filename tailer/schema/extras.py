"""What rows are told besides what a log says of them, as a value: where they come from, and which replica wrote them.

Knows no row, no log and no server: the values are found elsewhere, and travel with what is read.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

Replicas = Literal["all", "primary"]

ORIGIN: Final = ("cluster", "dc", "rack")
PRIMARY: Final = "primary"


class Origin(msgspec.Struct, frozen=True):
    """Where a node stands."""

    cluster: str
    dc: str
    rack: str


class Extras(msgspec.Struct, frozen=True):
    """`origin`: rows have its columns. `primary`: they have a column that says whether the node is their first replica.

    `replicas`: `primary` leaves out those of which it is not.
    """

    origin: Origin | None = None
    primary: bool = False
    replicas: Replicas = "all"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns behind all others, in order."""
        return extra_columns(with_origin=self.origin is not None, with_primary=self.primary)

    @property
    def by_ring(self) -> bool:
        """Whether rows are judged by the ring."""
        return self.primary or self.replicas == "primary"

    def __bool__(self) -> bool:
        return self != NO_EXTRAS


NO_EXTRAS: Final = Extras()


def extra_columns(*, with_origin: bool, with_primary: bool) -> tuple[str, ...]:
    """The names of the columns that were asked for."""
    return (*(ORIGIN if with_origin else ()), *((PRIMARY,) if with_primary else ()))
