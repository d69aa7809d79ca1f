"""`ship --to http(s)://…`: a POST of each data file as it is. At least once; its number says which came before.

POST /changes
Content-Type: application/x-ndjson        or application/vnd.apache.arrow.file
Content-Encoding: zstd                    of lines
Idempotency-Key: "4f0c…/n1/billing/7"     state, node, consumer, number: the same whenever it is sent
Repr-Digest: sha-256=:…:                  of the body
Cdc-Tail-Node, Cdc-Tail-Number, Cdc-Tail-Rows
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final

from tailer.shipping.web import Address, Connection, address_of, check
from tailer.sinks.files.index import Index
from tailer.sinks.files.series import DataFile

_CONTENT: Final[Mapping[str, Mapping[str, str]]] = {
    "arrow": {"Content-Type": "application/vnd.apache.arrow.file"},
}
_LINES: Final = {"Content-Type": "application/x-ndjson", "Content-Encoding": "zstd"}


def open_target(to: str, values: Mapping[str, Any], say: Callable[[str], None]) -> WebTarget:
    """The target of an address. UsageError."""
    return WebTarget(address_of(to, os.environ))


class WebTarget:
    """A Target: any service that takes a file by POST and answers 2xx once it has it."""

    keeps_numbers = False

    def __init__(self, address: Address) -> None:
        self.name = address.name
        self._address = address

    def standing(self, newest: DataFile) -> int | None:
        """Nobody can be asked."""
        return None

    def send(self, file: DataFile) -> None:
        index = file.index
        if not index.data:
            return
        with Connection(self._address) as connection:
            answer = connection.post(self._address.path(), file.parts(), index.length, _headers(index))
        check(answer, self.name, f"{file.node}/{index.data}")

    def close(self) -> None:
        """No connection is kept."""


def idempotency_key(index: Index) -> str:
    """The same for the same file, and different for different ones, of all nodes and consumers."""
    return f"{index.key.folder}/{index.key.node}/{index.key.consumer}/{index.number}"


def _headers(index: Index) -> dict[str, str]:
    digest = b64encode(bytes.fromhex(index.sha256)).decode()
    return {
        **_CONTENT.get(index.format, _LINES),
        "Idempotency-Key": f'"{idempotency_key(index)}"',
        "Repr-Digest": f"sha-256=:{digest}:",
        "Cdc-Tail-Node": index.key.node,
        "Cdc-Tail-Number": str(index.number),
        "Cdc-Tail-Rows": str(index.rows),
    }
