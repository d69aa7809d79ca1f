"""Requests about holds: what somebody elsewhere reads once is left alone by `clean` for a while. Sends nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import nullcontext
from hashlib import blake2b
from pathlib import Path
from typing import Final

from tailer.serve.clients import Client
from tailer.serve.consumers import check_writer, now_locked
from tailer.serve.problems import not_allowed, refused
from tailer.state.holds import FolderHolds, HoldFile
from tailer.wire.state import PutHold

SECONDS_MAX: Final = 86_400.0
HOLDS_MAX: Final = 64
"""Of one client at once."""

_OTHERS: Final = re.compile(r"[^A-Za-z0-9.-]+")
_SHOWN: Final = 100


class Holds:
    """Of one state folder. One call about a name at a time; any thread. `wall`: seconds since the epoch."""

    def __init__(self, state: Path, wall: Callable[[], float] = time.time) -> None:
        self._state = state
        self._holds = FolderHolds(state)
        self._wall = wall

    def put(self, client: Client, name: str, asked: PutHold) -> None:
        """`PUT /holds/NAME`. Who holds more than before waits for `clean` (BusyError)."""
        check_writer(client)
        if not (0 <= asked.seconds <= SECONDS_MAX) or not asked.node or asked.segment < 0:
            raise refused("a hold", expected=f"a node, a segment, and up to {SECONDS_MAX:.0f} seconds")
        own, now = _own(client), self._wall()
        held = self._holds.read(own + name)
        if held is None and sum(each.startswith(own) for each in self._holds.names()) >= HOLDS_MAX:
            raise not_allowed(f"{client.name} has {HOLDS_MAX} holds already", "Let go of those that are not needed.")
        more = held is None or held.until <= now or asked.segment < held.segment
        content = HoldFile(
            asked.node[:_SHOWN],
            asked.segment,
            now + asked.seconds,
            program=asked.program[:_SHOWN],
            host=asked.host[:_SHOWN],
        )
        with now_locked(self._state) if more else nullcontext():
            self._holds.write(own + name, content)

    def drop(self, client: Client, name: str) -> None:
        """`DELETE /holds/NAME`: nothing is left where there was none."""
        check_writer(client)
        self._holds.drop(_own(client) + name)


def _own(client: Client) -> str:
    """What the names of a client's holds begin with: no other client's, and no local reader's.

    The client's name is there for people. Different names may be shown alike, so a hash of it is what tells them apart.
    It has a fixed length between two signs that the part before it does not have.
    """
    tag = blake2b(client.name.encode(), digest_size=8).hexdigest()
    return f"remote-{_OTHERS.sub('-', client.name)[:40]}_{tag}_"
