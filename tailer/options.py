"""What a user can ask of a tail, as one value: the same for the terminal, for Python and for Spark. Knows no parser."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from tailer.selection import Selection

OnError = Literal["stop", "quarantine"]


class CommitEvery(NamedTuple):
    """When a position is saved: after each `batch` or `segment`, or after `number` `rows` or `ms`."""

    unit: Literal["batch", "segment", "rows", "ms"]
    number: int = 1


@dataclass(frozen=True, slots=True)
class TailOptions:
    """Options of a tail (architecture section 9).

    `start` and `until`: `segment:offset`, `earliest`, `latest`, or the node's JSON of an offset.
    `settle_seconds`: how long promised bytes may be invisible; None takes the default of the kind of run.
    `assume_finished_after`: seconds without change after which a segment counts as finished; None = never.
    `state`: a private state folder instead of the one beside the log folder. `keystore`: a JCEKS file.
    `server_ca`, `server_cert`: PEM files, for a server that wants TLS.
    """

    node: str = "local"
    tables: tuple[str, ...] = ()
    schema_file: Path | None = None
    server: str | None = None
    server_ca: Path | None = None
    server_cert: Path | None = None
    state: Path | None = None
    consumer: str | None = None
    keystore: Path | None = None
    keystore_password_file: Path | None = None
    start: str = "earliest"
    until: str | None = None
    stopped: bool = False
    assume_finished_after: float | None = None
    settle_seconds: float | None = None
    on_error: OnError = "stop"
    accept_loss: bool = False
    schema_changes: bool = False
    program: str = "cdc-tail"

    @property
    def selection(self) -> Selection:
        return Selection(self.tables)

    @property
    def quarantine(self) -> bool:
        return self.on_error == "quarantine"
