"""Where to listen, as users write it: `9464`, `HOST:9464`, `[::1]:9464`. Opens nothing."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

LOCAL: Final = "127.0.0.1"
"""Where nobody else comes in."""

_LISTEN: Final = re.compile(r"(?:(\[[0-9A-Fa-f:.%\w]+\]|[^\[\]:\s]*):)?(\d{1,5})", re.ASCII)
_PORT_MAX: Final = 65_535


class Listen(NamedTuple):
    """A host's name or address, and a port; 0: any that is free."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def listen_of(value: object) -> Listen | None:
    """What a text or a number says; None for what is none. Without a host it is this machine alone."""
    if isinstance(value, Listen):
        return value
    if type(value) is int and 0 <= value <= _PORT_MAX:
        return Listen(LOCAL, value)
    found = _LISTEN.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or int(found[2]) > _PORT_MAX:
        return None
    return Listen((found[1] or LOCAL).strip("[]"), int(found[2]))
