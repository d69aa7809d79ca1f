"""Which entries surely give no change row, told from their first bytes: so that a follower need not wake anybody.

A guess on the safe side: an entry that may give a row is never called quiet. Decodes nothing.
"""

from __future__ import annotations

from typing import Final

from tailer.definitions.at_spans import builtin
from tailer.definitions.history import DefinitionHistory
from tailer.limits import OFFSET_MAX
from tailer.position import Position
from tailer.rows.prepared import SYSTEM_LOCAL, TRUNCATED_AT
from tailer.schema.builtin import system_tables
from tailer.schema.selection import Selection

_END: Final = Position(2**63, OFFSET_MAX)
_LOCAL: Final = bytes.fromhex(SYSTEM_LOCAL)
_TRUNCATED_AT: Final = TRUNCATED_AT.encode()
_SCHEMA: Final = "system_schema"


class MayDeliver:
    """Tables that no definition, at any position, makes a wanted one. `schema_rows`: changes of definitions are rows.

    The history may grow in between.
    """

    def __init__(self, history: DefinitionHistory, selection: Selection, *, schema_rows: bool) -> None:
        self.schema_rows = schema_rows
        self._history = history
        self._selection = selection
        self._version: tuple[int, int] | None = None
        self._schema: frozenset[bytes] = frozenset()
        self._quiet: frozenset[bytes] = frozenset()
        self._wanted: frozenset[bytes] = frozenset()

    def mutation(self, payload: bytes) -> bool:
        """Whether the mutation may give a row. Its first table id stands behind a count (format page 5.2)."""
        self._refresh()
        table = payload[1:17]
        if table in self._wanted:
            return True
        if table in self._schema:
            return self.schema_rows
        if table == _LOCAL:
            return _TRUNCATED_AT in payload
        if table not in self._quiet:
            return True
        return payload[0] > 1 and any(wanted in payload for wanted in self._wanted)

    def change(self, key: bytes) -> bool:
        """Whether a change of a native log's table may give a row, by the 24 bytes of its key."""
        self._refresh()
        return key in self._wanted or key not in self._quiet

    def _refresh(self) -> None:
        version = self._history.version_at(_END)
        if version == self._version:
            return
        self._version = version
        met = [item for event in self._history.events for item in event.changed.items()]
        known = [*builtin().values(), *(held for _, held in met)]
        wanted = {held.id for held in known if self._selection.wants(held)}
        wanted |= {key for key, held in met if self._selection.wants(held)}
        quiet = ({held.id for held in known} | {key for key, _ in met} | system_tables().keys()) - wanted
        self._wanted = frozenset(map(bytes.fromhex, wanted))
        self._quiet = frozenset(map(bytes.fromhex, quiet))
        self._schema = frozenset(bytes.fromhex(held.id) for held in known if held.keyspace == _SCHEMA)
