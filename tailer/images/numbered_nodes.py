"""The numbers by which marks name nodes: kept in the state, and never given to another node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from tailer.images.store import Store
from tailer.versions import StateDecoder

_KEY: Final = b"nodes"
_NAMES: Final = StateDecoder[list[str]](list[str], "the nodes of the state of images")


class NumberedNodes:
    """Those of a state. `followed`: nodes that get one at once."""

    def __init__(self, store: Store, followed: Sequence[str]) -> None:
        self._store = store
        self._names: list[str] = _NAMES.decode(store.meta(_KEY) or b"\x90")
        for node in followed:
            self.number(node)

    def number(self, node: str) -> int:
        """A node's number; a new one where it has none."""
        if node not in self._names:
            self._names.append(node)
            self._store.put_meta(_KEY, msgspec.msgpack.encode(self._names))
        return self._names.index(node)

    @property
    def names(self) -> list[str]:
        """All nodes that ever had a number, in the order of their numbers, from 0 on."""
        return self._names
