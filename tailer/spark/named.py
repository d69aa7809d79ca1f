"""The tables that a query names, looked for in all its nodes together: where a frame is loaded, and before it is read.

Looks at the folders and writes nothing. Knows no pyspark.
"""

from __future__ import annotations

from dataclasses import replace

from tailer.definitions.named_tables import nothing_defines
from tailer.options.to_spark import SourceOptions
from tailer.schema.masks import check_known
from tailer.schema.model import TableDefinition
from tailer.schema.selection import is_glob
from tailer.spark.present import present, there
from tailer.tail.masked import nothing_to_mask
from tailer.tail.node_log import node_log
from tailer.tail.open import open_tail


def check_tables(options: SourceOptions) -> None:
    """DefinitionError for a table that is named exactly and that no node's log or state folder defines now.

    A node whose folder is not there yet may define it: until all are there nothing is refused. The table of a typed
    form is looked for by `typed_form`. UsageError for masks of what no node defines.
    """
    tail = options.tail
    _check_masks(options)
    if tail.tables_may_come or tail.table is not None or all(map(is_glob, tail.tables)):
        return
    if len(there(options)) < len(options.places):
        return
    missing, known = list(tail.tables), list[TableDefinition]()
    for name, place in options.places:
        asked = replace(options.of(name, once=True), start="earliest", until=None)
        with open_tail(node_log(place, asked), asked, writes=False) as opened:
            undefined = opened.named.undefined(None)
            missing = [each for each in missing if each in undefined]
            known += opened.named.known()
        if not missing:
            return
    raise nothing_defines(missing, known)


def _check_masks(options: SourceOptions) -> None:
    """What one log's tail cannot tell: that no other log defines a table or a column either.

    A node that is not there yet excuses no name: one that is misspelt hides nothing.
    """
    tail = options.tail
    if tail.masks_may_come or not tail.masks:
        return
    known: list[TableDefinition] = []
    for name, place in present(options):
        asked = replace(options.of(name, once=True), start="earliest", until=None, table=None)
        with open_tail(node_log(place, asked), asked, writes=False) as opened:
            known += opened.masked.definitions()
    if missing := check_known(tail.masks, known):
        raise nothing_to_mask(missing)
