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
from tailer.segments.heads import FirstIds
from tailer.segments.run import Run


class TablesInside:
    """By a history of definitions, which may grow in between."""

    def __init__(self, history: DefinitionHistory, selection: Selection) -> None:
        self._history = history
        self._selection = selection
        self._tables: tuple[tuple[int, int], ScanTables] | None = None

    def known(self, run: Run, ids: FirstIds) -> bool:
        """Whether a run's entries of several tables are read by the newest definitions, so that none is of a table that
        is not known."""
        several = ids.several()
        if not len(several):
            return True
        index = scan_now()(run.data, run.starts[several], run.sizes[several], self._scan_tables())
        return index.stopped.status == Status.OK

    def _scan_tables(self) -> ScanTables:
        """All tables that are known, of which nothing is kept: the scan walks over them."""
        version = self._history.version
        if self._tables is None or self._tables[0] != version:
            known = {**builtin(), **{id: held for id, held in self._history.newest.items() if not is_native(id)}}
            unread = system_tables().keys() - known.keys()
            prepared = prepare(known, (), unread=unread, reaches=self._selection.reaches)
            self._tables = version, prepared.scan_tables
        return self._tables[1]
