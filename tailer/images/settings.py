"""How a run merges, as values. Decides nothing."""

from __future__ import annotations

import msgspec


class Settings(msgspec.Struct, frozen=True):
    """`started_us`: since when all nodes are read. `expirations`: whether what expires gives images.

    `gc_grace_seconds`: of all tables; None for each one's own, and the server's default where nobody tells of it.
    `asks`: there may be somebody who asks servers. `rereads`: what comes late and is older than a snapshot's floor is
    asked of the server; else it is void.
    """

    started_us: int
    expirations: bool = True
    gc_grace_seconds: int | None = None
    rereads: bool = False
    asks: bool = True
