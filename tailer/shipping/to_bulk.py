"""`ship --to http(s)://… --format elasticsearch-bulk`: documents in a search engine, by its bulk API.

Elasticsearch's and OpenSearch's. What is sent again changes nothing, for documents have versions of the rows' own.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from tailer.errors import SinkError
from tailer.shipping.bulk_actions import Action, Actions, chunks
from tailer.shipping.bulk_answer import outcome_of
from tailer.shipping.file_rows import check_generic
from tailer.shipping.web import Address, Connection, address_of, check
from tailer.sinks.files.series import DataFile
from tailer.sinks.outlet import TargetAwayError

_HEADERS: Final = {"Content-Type": "application/x-ndjson"}
_TOO_LARGE: Final = 413


def open_target(to: str, values: Mapping[str, Any], say: Callable[[str], None]) -> BulkTarget:
    """The target of a search engine's address. UsageError."""
    return BulkTarget(address_of(to, os.environ), Actions(values["index"], values["leave_out_ranges"]), say)


class BulkTarget:
    """A Target. What was taken of a file is not sent again while this process lives."""

    keeps_numbers = False

    def __init__(self, address: Address, actions: Actions, say: Callable[[str], None]) -> None:
        self.name = address.name
        self._address = address
        self._actions = actions
        self._say = say
        self._late = 0
        self._file: DataFile | None = None
        self._rest: Iterator[list[Action]] = iter(())
        self._left: deque[list[Action]] = deque()

    def standing(self, newest: DataFile) -> int | None:
        """It has documents, no files."""
        return None

    def send(self, file: DataFile) -> None:
        index = file.index
        check_generic(index, str(file.path), "--format elasticsearch-bulk", ("rows",))
        if self._file is None or self._file.path != file.path:
            lines = file.lines()
            made = self._actions.of_images(lines) if index.images else self._actions.of(lines, index.tables)
            self._file, self._rest = file, chunks(made)
            self._left.clear()
        with Connection(self._address) as connection:
            while self._left or self._more():
                self._post(connection, self._left[0])
        self._file = None

    def close(self) -> None:
        if self._late:
            self._say(f"{self._late} changes were older than the documents that are there, which were left as they are")
        if self._actions.left_out:
            self._say(f"warning: {self._actions.left_out} deletes of ranges, partitions and tables were left out")

    def _more(self) -> bool:
        """The file's next chunk, if there is one."""
        self._left.extend(islice(self._rest, 1))
        return bool(self._left)

    def _post(self, connection: Connection, chunk: list[Action]) -> None:
        """Send the first chunk; what is not taken for now stays, and TargetAwayError says so."""
        body = b"".join(action.text for action in chunk)
        answer = connection.post(self._address.path("_bulk"), [body], len(body), _HEADERS)
        if answer.status == _TOO_LARGE:
            self._halve(chunk, len(body))
            return
        check(answer, self.name, f"{len(chunk)} actions")
        outcome = outcome_of(answer.body, chunk, self.name)
        self._late += outcome.late
        self._left.popleft()
        if outcome.again:
            self._left.appendleft(outcome.again)
            what = f"{self.name} did not take {len(outcome.again)} of {len(chunk)} actions"
            raise TargetAwayError(what, found=outcome.why)

    def _halve(self, chunk: list[Action], length: int) -> None:
        if len(chunk) == 1:
            raise SinkError(f"row {chunk[0].event_id} is larger than {self.name} takes", found=f"{length} bytes")
        middle = len(chunk) // 2
        self._left.popleft()
        self._left.extendleft((chunk[middle:], chunk[:middle]))
