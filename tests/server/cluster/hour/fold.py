"""Row images, one after the other: the rows that they come to, and whether they are a whole sequence.

An image's key is table id, row and `seq`. `prev_seq` is the `seq` of the image before it in its partition, and `before`
is the `after` of the image before it of its row. Knows the columns of an image and nothing of how images are made.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.oracle.jsontext import dumps, loads
from tests.server.cluster.hour.recording import Definition
from tests.server.cluster.hour.values import of_json

EXAMPLES = 5
OF_ONE_ROW = {"insert", "update", "upsert", "delete", "expire", "read"}
OF_MANY = {"delete_range", "delete_partition", "truncate", "schema", "drop"}
TICKET = re.compile(r"(?<![\d.])[1-9]\d{6}(?![\d.])")

Row = tuple[str, str, str, bool]
Image = Mapping[str, Any]


@dataclass
class RowState:
    """The newest image of a row. `shape`: how many schema changes of its table came before it."""

    after: Image | None
    complete: bool
    key: Mapping[str, Any]
    shape: int


@dataclass
class Fold:
    """What images come to. `found`: examples of what is wrong, by kind; `counts`: how many of each.

    `shown`: by ticket and table, how often the ticket came newly into each row. `read`: by table id and partition, the
    newest timestamp of what was read from the server. `first`: by node, the least position of a log row that has an
    image.
    """

    images: int = 0
    ops: Counter[str] = field(default_factory=Counter)
    rows: dict[Row, RowState] = field(default_factory=dict)
    shown: dict[tuple[int, str], Counter[Row]] = field(default_factory=lambda: defaultdict(Counter))
    read: dict[tuple[str, str], int] = field(default_factory=dict)
    first: dict[str, tuple[int, int]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    found: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _given: dict[tuple[Row, int], int] = field(default_factory=dict)
    _seqs: dict[tuple[str, str], int] = field(default_factory=dict)
    _shapes: Counter[str] = field(default_factory=Counter)
    _dropped: set[str] = field(default_factory=set)

    def add(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._one(line, loads(line))

    def _one(self, line: str, image: Image) -> None:
        row = row_of(image)
        given = self._given.get((row, image["seq"]))
        if given is not None:
            self._wrong("twice" if given == hash(line) else "twice, with other content", line)
            return
        self._given[row, image["seq"]] = hash(line)
        self.images += 1
        self.ops[image["op"]] += 1
        if image["segment"] is not None:
            position = (image["segment"], image["offset"])
            self.first[image["node"]] = min(self.first.get(image["node"], position), position)
        if image["partition_key"] is not None:
            self._sequence(line, image)
        if image["op"] in OF_ONE_ROW:
            self._row(line, row, image)
        elif image["op"] == "schema":
            self._shapes[image["table_id"]] += 1
        elif image["op"] == "drop":
            self._drop(image["table_id"])
        elif image["op"] not in OF_MANY:
            self._wrong("unknown op", line)

    def _wrong(self, kind: str, text: str) -> None:
        self.counts[kind] += 1
        if len(self.found[kind]) < EXAMPLES:
            self.found[kind].append(text[:1500])

    def _sequence(self, line: str, image: Image) -> None:
        partition = (image["table_id"], dumps(image["partition_key"]))
        last = self._seqs.get(partition)
        begun_again = image["prev_seq"] is None and image["table_id"] in self._dropped
        if image["prev_seq"] != last and not begun_again:
            self._wrong("sequence broken", f"last seq {last}: {line}")
        if last is not None and image["seq"] <= last:
            self._wrong("sequence not growing", f"last seq {last}: {line}")
        self._seqs[partition] = image["seq"]

    def _row(self, line: str, row: Row, image: Image) -> None:
        last = self.rows.get(row)
        shape = self._shapes[image["table_id"]]
        if last is not None and not continues(last, image, same_shape=last.shape == shape):
            kind = "before is not the after before it"
            complete = "complete" if last.complete and image["complete"] else "incomplete"
            self._wrong(f"{kind} ({complete})", f"{dumps(last.after)} was the row: {line}")
        for ticket in tickets(image["after"]) - tickets(image["before"]):
            self.shown[ticket, image["table"]][row] += 1
        if (image["event_id"] or "").startswith("snapshot:"):
            partition = (image["table_id"], row[1])
            self.read[partition] = max(self.read.get(partition, 0), image["write_ts"] or 0)
        key = {**image["partition_key"], **(image["clustering"] or {})}
        self.rows[row] = RowState(image["after"], image["complete"], key, shape)

    def _drop(self, table_id: str) -> None:
        self._dropped.add(table_id)
        for row in [row for row in self.rows if row[0] == table_id]:
            del self.rows[row]

    # --- as SELECT shows it ---

    def shown_rows(self, table: Definition) -> Iterator[tuple[dict[str, str], bool]]:
        """The rows of a table's newest life, spelled by `values`, and whether each is complete."""
        parts: dict[str, dict[Row, RowState]] = defaultdict(dict)
        for row, state in self.rows.items():
            if row[0] == table.id and state.after is not None:
                parts[row[1]][row] = state
        for held in parts.values():
            statics = [state for row, state in held.items() if row[3]]
            regular = [state for row, state in held.items() if not row[3]]
            static = {name: value for state in statics for name, value in (state.after or {}).items()}
            for state in regular or statics:
                values = {**state.key, **static, **(state.after or {})}
                known = all(each.complete for each in (state, *statics))
                spelled = {n: of_json(table.types.get(n, "text"), value) for n, value in values.items()}
                yield {name: value for name, value in spelled.items() if value is not None}, known


def row_of(image: Image) -> Row:
    """Which row it is of."""
    return (image["table_id"], dumps(image["partition_key"]), dumps(image["clustering"]), bool(image["is_static"]))


def tickets(values: Image | None) -> set[int]:
    """The tickets in a row's values."""
    return set() if values is None else {int(found) for found in TICKET.findall(json.dumps(values))}


def continues(last: RowState, image: Image, *, same_shape: bool) -> bool:
    """Whether an image begins where the one before it of its row ended.

    Columns that came or went meanwhile count for nothing, and neither do nulls where one of them is not complete.
    """
    before, after = image["before"], last.after
    if before is None or after is None:
        if last.complete and image["complete"]:
            return before is None and after is None
        return all(value is None for name, value in (before or after or {}).items() if name not in last.key)
    names = set(before) & set(after)
    if not same_shape or not (last.complete and image["complete"]):
        return all(before[name] == after[name] for name in names)
    return bool(before == after)
