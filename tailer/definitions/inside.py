"""Entries of several tables: whether each table behind the first one is known. Reads no segment: runs are handed in."""

from __future__ import annotations

from tailer.definitions.at_spans import builtin
from tailer.definitions.history import DefinitionHistory
from tailer.rows.prepared import prepare
from tailer.scan.forms import scan_now
from tailer.scan.index import Status
from tailer.scan.tables import ScanTables
from tailer.schema.builtin import system_tables
from tailer.schema.record_definitions import is_native
from tailer.schema.selection import Selection
from tailer.segments.heads import FirstIds, first_word
from tailer.segments.run import Run


class TablesInside:
    """By a history of definitions, which may grow in between."""

    def __init__(self, history: DefinitionHistory, selection: Selection) -> None:
        self._history = history
        self._selection = selection
        self._tables: tuple[tuple[int, int], ScanTables] | None = None

    def unknown_in(self, run: Run, ids: FirstIds) -> frozenset[int] | None:
        """How the ids of unknown tables begin (`first_word`), in a run's entries of several tables.

        None where an entry does not say of which tables it is: it does not decode by the newest definitions.
        """
        several = ids.several()
        first, found = 0, set[int]()
        starts, sizes = run.starts[several], run.sizes[several]
        while first < len(several):
            index = scan_now()(run.data, starts, sizes, self._scan_tables(), first)
            stopped = index.stopped
            if stopped.status == Status.OK:
                break
            if stopped.status != Status.UNKNOWN_TABLE:
                return None
            found.add(first_word(run.data[stopped.name_off : stopped.name_off + stopped.name_len]))
            first = stopped.entry + 1
        return frozenset(found)

    def _scan_tables(self) -> ScanTables:
        """All tables that are known, of which nothing is kept: the scan walks over them."""
        version = self._history.version
        if self._tables is None or self._tables[0] != version:
            known = {**builtin(), **{id: held for id, held in self._history.newest.items() if not is_native(id)}}
            unread = system_tables().keys() - known.keys()
            prepared = prepare(known, (), unread=unread, reaches=self._selection.reaches)
            self._tables = version, prepared.scan_tables
        return self._tables[1]
