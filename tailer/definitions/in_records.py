"""What the planner learns of a native log while it checks its bytes: definitions, and where a restart must begin.

Reads no segment: runs are handed in. Says nothing of rows.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from tailer.definitions.history import DefinitionHistory
from tailer.errors import CdcError
from tailer.limits import ENTRY_OVERHEAD
from tailer.position import Position
from tailer.scan.record.head import FINGERPRINT_AT, IN_TRANSACTION, TABLE_AT, TXN_AT
from tailer.scan.record.kinds import kinds_of
from tailer.scan.record.record import (
    CHANGE,
    COMMIT,
    DEFINITION,
    STATE,
    Definition,
    State,
    decode_position,
    decode_record,
    record_kind,
)
from tailer.schema.record_definitions import definition_key, definition_of
from tailer.segments.run import Run
from tailer.state.journal_records import DefinitionRecord

EDGES_MAX: Final = 4096
"""Section edges whose restart is kept; what is older is read again."""

GivesRows = Callable[[bytes], bool]
"""Whether a change of the table with this key may give a row."""


class Found(NamedTuple):
    """An entry: where it begins, and its bytes."""

    start: Position
    payload: bytes


class RecordFinds:
    """What runs of native segments held, until somebody asks. `pending`: definitions that were met, by their ends."""

    def __init__(self) -> None:
        self.pending: dict[Position, Found] = {}
        self._restarts: OrderedDict[Position, Position] = OrderedDict()

    def collect(self, segment: int, run: Run) -> None:
        """Note the definitions in a run."""
        kinds = kinds_of(run.data, run.starts, run.sizes)
        for number in (kinds == DEFINITION).nonzero()[0].tolist():
            start, size, offset = int(run.starts[number]), int(run.sizes[number]), int(run.offsets[number])
            end = Position(segment, offset + ENTRY_OVERHEAD + size)
            self.pending[end] = Found(Position(segment, offset), run.data[start : start + size])

    def note_restart(self, segment: int, run: Run) -> None:
        """Note what a run's last record says of its end."""
        if not len(run.starts):
            return
        start = int(run.starts[-1])
        payload = run.data[start : start + int(run.sizes[-1])]
        try:
            state = decode_record(payload) if record_kind(payload) == STATE else None
        except CdcError:
            # Without it a reader begins where it did before: earlier than need be, and right.
            return
        if isinstance(state, State):
            self.keep_restart(Position(segment, run.edge), decode_position(state.restart))

    def keep_restart(self, edge: Position, restart: Position) -> None:
        """A section's last record says where a reader that stands at its end must begin."""
        self._restarts[edge] = restart
        self._restarts.move_to_end(edge)
        if len(self._restarts) > EDGES_MAX:
            self._restarts.popitem(last=False)

    def restart(self, edge: Position) -> Position | None:
        """Where a reader that stands at a section's end must begin; None where that section was not seen here."""
        return self._restarts.get(edge)

    def learnt(
        self, history: DefinitionHistory, refuse: Callable[[CdcError, Position, Definition | None], None]
    ) -> list[DefinitionRecord]:
        """Those of the pending definitions that are news, in log order. `refuse` gets what does not decode, with the
        record where that alone does."""
        records: list[DefinitionRecord] = []
        newest: dict[str, str] = {}
        for end, item in sorted(self.pending.items()):
            record: Definition | None = None
            try:
                decoded = decode_record(item.payload, item.start)
                if not isinstance(decoded, Definition):
                    continue
                record = decoded
                definition = definition_of(record, item.start)
            except CdcError as error:
                refuse(error, item.start, record)
                continue
            key = definition_key(record.table_id, record.fingerprint)
            if key != newest.get(definition.id, history.native.key(definition.id, end)):
                records.append(DefinitionRecord(at=end, fp=record.fingerprint.hex(), definition=definition))
            newest[definition.id] = key
        return records


def may_give_rows(run: Run, may_deliver: GivesRows, *, schema_rows: bool) -> bool:
    """Whether a run may give a row. `schema_rows`: definitions are rows."""
    kinds = kinds_of(run.data, run.starts, run.sizes)
    if (kinds == COMMIT).any() or (schema_rows and (kinds == DEFINITION).any()):
        return True
    seen: set[bytes] = set()
    for start in run.starts[(kinds == CHANGE) | (kinds == IN_TRANSACTION)].tolist():
        key = run.data[start + TABLE_AT : start + TABLE_AT + 16] + run.data[start + FINGERPRINT_AT : start + TXN_AT]
        if key not in seen and may_deliver(key):
            return True
        seen.add(key)
    return False
