"""What is served, where, to whom, and within which bounds. Values only."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tailer.options.listen import Listen
from tailer.options.tail import TailOptions
from tailer.serve.clients import Clients
from tailer.serve.connections import CONNECTIONS_MAX, HEADER_SECONDS, IDLE_SECONDS
from tailer.serve.files import PIECE_SECONDS
from tailer.serve.own_reading import READING
from tailer.wire.paths import LEASE_SECONDS

HANDSHAKE_SECONDS: Final = 10.0
STATUS_CONNECTIONS_MAX: Final = 256
"""A browser has six, and a page that is open one of them for itself."""

STOP_SECONDS: Final = 5.0
"""What is being sent when the server is stopped may go on for so long."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long clients may take, and how many there may be."""

    connections: int = CONNECTIONS_MAX
    handshake_seconds: float = HANDSHAKE_SECONDS
    header_seconds: float = HEADER_SECONDS
    idle_seconds: float = IDLE_SECONDS
    piece_seconds: float = PIECE_SECONDS
    stop_seconds: float = STOP_SECONDS
    lease_seconds: float = LEASE_SECONDS


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """`tls`: None for none. `status`: where /healthz and its like are, None for nowhere. `rate`: bytes a second.
    `cap`: the server's, for `status`. `reading`: for the node's own reading of its log."""

    folder: Path
    listen: Listen
    clients: Clients
    tls: ssl.SSLContext | None = None
    status: Listen | None = None
    host_names: Sequence[str] = ()
    rate: int | None = None
    cap: int | None = None
    reading: TailOptions = field(default_factory=lambda: TailOptions(**READING))
    bounds: Bounds = field(default_factory=Bounds)
