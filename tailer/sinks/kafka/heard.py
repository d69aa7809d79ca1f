"""What Kafka's clients say besides their answers: that a connection fails, lines of their log. Nothing of it reaches
standard error as it is.

The clients hand it over while they are polled, in the thread that does so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaError

from tailer.sinks.kafka.faults import is_refusal, told

TOLD_OTHERWISE: Final = frozenset({
    "FAIL", "ERROR", "CONNECT", "GETPID", "ADDPARTS", "TXNERR", "FATAL", "ENDTXN", "PARTCNT",
    "METADATAUPDATE",
})  # fmt: skip
"""Log lines by their first word, of connections, transactions, and partitions that have no leader yet (a topic was just
made; the client looks again): the call that needs them ends with the same."""


class Heard:
    """Of all clients of one outlet. `where`: the cluster in words."""

    def __init__(self, where: str, say: Callable[[str], None]) -> None:
        self.where = where
        self.last: KafkaError | None = None
        self._connection: str | None = None
        self._refusal: KafkaError | None = None
        self.say = say
        self._told: set[str] = set()
        # None of the program's loggers: nobody else is given its lines.
        self.logger = logging.Logger("cdc_tail.kafka")
        self.logger.addHandler(_Lines(self._line))

    def begin(self) -> None:
        """What was said until now explains nothing that comes."""
        self.last = self._refusal = self._connection = None

    def error(self, error: KafkaError) -> None:
        """Called by the clients."""
        if error.code() != KafkaError._ALL_BROKERS_DOWN or self.last is None:
            # That all are down says less than why the last one was.
            self.last = error
        if is_refusal(error):
            self._refusal = error

    def why(self, error: KafkaError) -> str:
        """Why a call has ended with `error`, as far as its connections have said."""
        if self.last is not None and self.last.code() != KafkaError._ALL_BROKERS_DOWN:
            return str(self.last.str())
        said = str((self.last or error).str())
        return said if self._connection is None else f"{said}: {self._connection}"

    def check(self, doing: str) -> None:
        """Raises what makes further waiting useless."""
        if self._refusal is not None:
            raise told(self._refusal, doing, self.where)

    def _line(self, text: str, warns: bool) -> None:
        """Each kind of warning once: the client says some of them every few seconds."""
        kind = text.partition(" ")[0]
        if kind == "FAIL":
            # A connection that fails before the broker has sent its version is in the client's log alone.
            self._connection = text.rpartition("]: ")[2]
        if warns and kind not in TOLD_OTHERWISE and kind not in self._told:
            self._told.add(kind)
            self.say(f"warning: Kafka's client: {text}")


class _Lines(logging.Handler):
    def __init__(self, line: Callable[[str, bool], None]) -> None:
        super().__init__()
        self._line = line

    def emit(self, record: logging.LogRecord) -> None:
        self._line(record.getMessage(), record.levelno >= logging.WARNING)
