"""Whether each acknowledged write has its image, by the ledger, the logs' rows and the images.

A write that sets a value has a ticket. Its image is the one in which the ticket comes into the row. It has to be there
unless one of these holds, which are the reasons that last-write-wins knows:

* *overtaken*: in the log of some node a write of the partition that is as new or newer stands before the write's first
  copy, or the write has no copy there. That node's log may be merged first.
* *read*: the server was asked for the partition, and what it answered is as new or newer.
* *schema*: the table's schema was being changed, or was changed before all three nodes had logged the write.
* *not surely*: its timestamp is of the past or equal to another one's, or it may have expired before it was merged.
* *early*: in each node's log it stands before the first row that has an image: the consumer of images began behind it.

All other writes are *held to it*.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.oracle.jsontext import dumps, loads
from tests.server.cluster.hour.fold import EXAMPLES, TICKET, Fold
from tests.server.cluster.hour.workload import Acknowledged

ONCE_AT_MOST = {"seq", "lat", "wide", "kv", "ttl", "statics", "ordered", "batched", "big"}
"""Tables in which no value comes back: their tickets come into a row once."""
NEAR_SECONDS = 1.0


@dataclass(frozen=True)
class Copy:
    """The first row of a node's log that has a ticket. `place`: its number in the log, counted from the first row."""

    place: int
    segment: int
    offset: int
    partition: tuple[str, str]
    timestamp: int


@dataclass
class LogRows:
    """The rows of all logs: where each ticket stands, and the timestamps of each partition in their order."""

    rows: int = 0
    nodes: set[str] = field(default_factory=set)
    copies: dict[tuple[int, str], dict[str, Copy]] = field(default_factory=lambda: defaultdict(dict))
    partitions: dict[tuple[str, tuple[str, str]], list[tuple[int, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, node: str, lines: Iterable[str]) -> None:
        self.nodes.add(node)
        for place, line in enumerate(lines):
            row = json.loads(line)
            self.rows += 1
            if row["partition_key"] is None:
                continue
            # Spelled as images' keys are.
            partition = (row["table_id"], dumps(loads(json.dumps(row["partition_key"]))))
            self.partitions[node, partition].append((place, row["write_ts"]))
            copy = Copy(place, row["segment"], row["offset"], partition, row["write_ts"])
            for ticket in set(TICKET.findall(json.dumps([row["columns"], row["cells"], row["partition_key"]]))):
                self.copies[int(ticket), row["table"]].setdefault(node, copy)

    def overtaken(self, ticket: tuple[int, str]) -> bool:
        """Whether some node's log has something as new, or newer, of the partition, and no copy before it."""
        copies = self.copies[ticket]
        written = max(copy.timestamp for copy in copies.values())
        partition = next(iter(copies.values())).partition
        for node in self.nodes:
            own = copies.get(node)
            others = self.partitions.get((node, partition), [])
            newer = [place for place, at in others if at >= written and (own is None or place != own.place)]
            if newer and (own is None or newer[0] < own.place):
                return True
        return False

    def before(self, ticket: tuple[int, str], first: Mapping[str, tuple[int, int]]) -> bool:
        """Whether each copy stands before the position that `first` has of its node."""
        copies = self.copies[ticket].items()
        return all(node not in first or (copy.segment, copy.offset) < first[node] for node, copy in copies)

    def everywhere(self, ticket: tuple[int, str], acknowledged: float) -> bool:
        """Whether each node logged it when it was written, and not by a hint or a repair after a restart."""
        copies = self.copies[ticket]
        return self.nodes == set(copies) and all(copy.segment < 1000 * acknowledged for copy in copies.values())


@dataclass
class Accounts:
    """The figures, and examples of what is wrong."""

    figures: Counter[str] = field(default_factory=Counter)
    by_kind: Counter[str] = field(default_factory=Counter)
    without_row: list[str] = field(default_factory=list)
    without_image: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)


def accounts(
    entries: Iterable[Acknowledged], changes: Sequence[Mapping[str, Any]], logs: LogRows, fold: Fold
) -> Accounts:
    """`changes`: the schema changes, each with `cql` and `sent`."""
    made = Accounts()
    schema = _by_table(changes)
    for entry in entries:
        made.figures["requests"] += 1
        if entry.acknowledged is None:
            made.figures["not acknowledged"] += 1
            continue
        made.figures["acknowledged"] += 1
        made.by_kind[entry.kind] += 1
        for ticket in entry.tickets:
            _hold(made, entry, ticket, schema, logs, fold)
    return made


def _hold(
    made: Accounts,
    entry: Acknowledged,
    ticket: tuple[int, str],
    schema: Mapping[str, list[tuple[float, float]]],
    logs: LogRows,
    fold: Fold,
) -> None:
    made.figures["acknowledged values"] += 1
    text = f"{ticket[1]} {ticket[0]}: {entry.kind}, sent {entry.sent:.3f}"
    if ticket not in logs.copies:
        # A table that was dropped within a segment has no row left where the definitions are gone; others have all.
        made.figures["without a row in any log"] += 1
        if len(made.without_row) < 4 * EXAMPLES:
            made.without_row.append(text)
        return
    images = max(fold.shown[ticket].values(), default=0)
    if images:
        made.figures["with an image"] += 1
    if images > 1 and ticket[1] in ONCE_AT_MOST and not entry.conditional:
        made.figures["with two images"] += 1
        if len(made.twice) < 4 * EXAMPLES:
            made.twice.append(f"{text}: {images} images of one row")
    reason = _excused(entry, ticket, schema, logs, fold)
    if reason is None:
        made.figures["held to an image"] += 1
    if images:
        return
    if reason is not None:
        made.figures[f"no image, {reason}"] += 1
        return
    made.figures["WITHOUT AN IMAGE"] += 1
    if len(made.without_image) < 8 * EXAMPLES:
        copies = {node: (copy.segment, copy.place) for node, copy in logs.copies[ticket].items()}
        made.without_image.append(f"{text}, copies {copies}")


def _excused(
    entry: Acknowledged,
    ticket: tuple[int, str],
    schema: Mapping[str, list[tuple[float, float]]],
    logs: LogRows,
    fold: Fold,
) -> str | None:
    if logs.before(ticket, fold.first):
        return "early"
    if not entry.surely:
        return "not surely"
    copies = logs.copies[ticket]
    partition, written = next(iter(copies.values())).partition, max(copy.timestamp for copy in copies.values())
    if fold.read.get(partition, 0) >= written:
        return "read"
    assert entry.acknowledged is not None
    later = [(sent, done) for sent, done in schema.get(ticket[1], ()) if done + NEAR_SECONDS > entry.sent]
    if any(sent < entry.acknowledged + NEAR_SECONDS for sent, _ in later):
        return "schema"
    if later and not logs.everywhere(ticket, entry.acknowledged):
        return "schema"
    return "overtaken" if logs.overtaken(ticket) else None


def _by_table(changes: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[float, float]]]:
    """When each table's schema was changed: from sent to done."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for change in changes:
        words = change["cql"].replace("(", " ").split()
        name = words[1] if words[0] == "TRUNCATE" else words[2]
        found[name.rpartition(".")[2]].append((change["sent"], change["done"]))
    return found


def schema_changes(file: Path) -> list[dict[str, Any]]:
    """All that were tried: one that timed out may have been made."""
    return [json.loads(line) for line in file.read_text().splitlines()]
