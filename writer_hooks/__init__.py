"""`writer_hooks`: a change log of a Python service's own, followed by the same tailer as Cassandra's.

    with SegmentLog.open("changes", tables=[orders]) as log:
        log.append(orders.insert({"id": 1})).wait()

What `tailer` knows of formats and positions is used here; the reader never imports this package.
"""

from writer_hooks.cap import Cap
from writer_hooks.cell_arrays import Delta
from writer_hooks.change import Change
from writer_hooks.declare import Cql
from writer_hooks.declared_table import Table
from writer_hooks.log import SegmentLog
from writer_hooks.own_replay import Replayed
from writer_hooks.policy import SyncPolicy, batch, group, periodic
from writer_hooks.stats import Stats
from writer_hooks.table_model import Column
from writer_hooks.ticket import Ticket
from writer_hooks.transaction import Transaction

__all__ = [
    "Cap",
    "Change",
    "Column",
    "Cql",
    "Delta",
    "Replayed",
    "SegmentLog",
    "Stats",
    "SyncPolicy",
    "Table",
    "Ticket",
    "Transaction",
    "batch",
    "group",
    "periodic",
]
