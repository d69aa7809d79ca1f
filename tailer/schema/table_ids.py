"""Table ids as a server makes them. Values only."""

from __future__ import annotations

from uuid import UUID


def created_before(table_id: str, other: str) -> bool:
    """Whether a table was created before another one, by their ids (hex digits, with or without hyphens).

    Ids of version 1 have the time of the CREATE. An id that was given by `WITH ID` may be of another version: then
    nothing is known, and this is False.
    """
    ids = UUID(table_id), UUID(other)
    return all(each.version == 1 for each in ids) and ids[0].time < ids[1].time
