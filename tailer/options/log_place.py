"""Where a log is, as users write it: a folder, or the address of a node that serves one. Opens nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tailer.errors import UsageError
from tailer.options.listen import listen_of

_URL: Final = re.compile(r"(https?)://([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_WANTED: Final = "http://HOST:PORT or https://HOST:PORT"
_PORT: Final = 9043


@dataclass(frozen=True, slots=True)
class NodeUrl:
    """A node that serves its log. `port` is always said."""

    scheme: str
    host: str
    port: int

    @property
    def secure(self) -> bool:
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """Host and port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"


LogPlace = Path | NodeUrl


def is_address(text: str) -> bool:
    """Whether a text is meant as a node's address."""
    return _URL.fullmatch(text.strip()) is not None


def log_place(text: str) -> LogPlace:
    """The place that a text names. UsageError for an address that is none."""
    found = _URL.fullmatch(text.strip())
    return Path(text) if found is None else _node_url(found[1].lower(), found[2], found[3])


def _node_url(scheme: str, authority: str, rest: str) -> NodeUrl:
    if "@" in authority:
        # Not shown: it may hold a password.
        raise UsageError(
            "a node's address has no user or password in it",
            expected=_WANTED,
            remedy="Give a token with --token-file (tokenFile), or in CDC_TAIL_TOKEN.",
        )
    named = authority if authority.rpartition("]")[2].count(":") else f"{authority}:{_PORT}"
    listen = listen_of(named)
    if rest not in ("", "/") or listen is None or not listen.host or not listen.port or named.startswith(":"):
        raise UsageError("this is no address of a node", expected=_WANTED, found=repr(f"{scheme}://{authority}{rest}"))
    return NodeUrl(scheme, listen.host, listen.port)
