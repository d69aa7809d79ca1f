"""The tables that a query names, looked for in all its nodes together: where a frame is loaded, and before it is read.

Looks at the folders and writes nothing. Knows no pyspark.
"""

from __future__ import annotations

from dataclasses import replace

from tailer.definitions.named_tables import nothing_defines
from tailer.options.to_spark import SourceOptions
from tailer.schema.model import TableDefinition
from tailer.schema.selection import is_glob
from tailer.tail.open import open_tail


def check_tables(options: SourceOptions) -> None:
    """DefinitionError for a table that is named exactly and that no node's log or state folder defines now.

    A node whose folder is not there yet may define it: until all are there nothing is refused. The table of a typed
    form is looked for by `typed_form`.
    """
    tail = options.tail
    if tail.tables_may_come or tail.table is not None or all(map(is_glob, tail.tables)):
        return
    if not all(folder.is_dir() for _, folder in options.folders):
        return
    missing, known = list(tail.tables), list[TableDefinition]()
    for name, folder in options.folders:
        asked = replace(options.of(name, once=True), consumer=None, start="earliest", until=None)
        with open_tail(folder, asked, writes=False) as opened:
            undefined = opened.named.undefined(None)
            missing = [each for each in missing if each in undefined]
            known += opened.named.known()
        if not missing:
            return
    raise nothing_defines(missing, known)
