"""Which outlet of a database a `--mode` means: one that appends, or one that keeps tables as the source has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailer.sinks.database.names import check_table
from tailer.sinks.database.outlet import TABLE, DatabaseOutlet, Target
from tailer.sinks.database.store import Store
from tailer.sinks.database.table_outlet import TableOutlet
from tailer.sinks.outlet import Outlet, OutletContext


def outlet_of(store: Store, target: Target, values: Mapping[str, Any], context: OutletContext) -> Outlet:
    """Into a table that was checked."""
    if "{" not in target.table:
        # Names that a pattern gives are shortened where they are too long.
        check_table(target.table, store.name_limit)
    if values["mode"] == TABLE:
        return TableOutlet(store, target.table, values, context)
    return DatabaseOutlet(store, target, values, context)
