"""By which names this server may be asked for. Pure.

A page of a stranger's in a browser here may be made to ask this machine under the stranger's name, or say where it
comes from: neither is answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^\[\]:\s]+)(?::\d{1,5})?")
_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Hosts:
    """`names`: what was listened on, and what else the server is called."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset({*map(_plain, names), *_LOCAL})

    def fits(self, host: str | None, local: str | None) -> bool:
        """Whether a Host header is of this server. `local`: the address that the client came to.

        Not the port: somebody may hand on from another one.
        """
        found = None if host is None else _HOST.fullmatch(host)
        if found is None:
            return False
        name = _plain(found[1])
        return name in self._names or (local is not None and name == _plain(local))


def _plain(name: str) -> str:
    return name.strip("[]").lower().rstrip(".").partition("%")[0].removeprefix("::ffff:")
