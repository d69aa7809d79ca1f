"""The definition of what a server has while the log is behind: what is new counts, a DROP that the log shows later does
not yet. Values only.
"""

from __future__ import annotations

import msgspec

from tailer.rebuild import Table


def not_yet_dropped(read: Table, log: Table) -> Table:
    """The table by which rows were read, with the columns that live where the log is, of the same type. `log`: as the
    log has it there. What the DROP did not cover, and what is written before it, is shown until the log shows it."""
    lives = {(each.kind, each.name, each.type): each for each in log.definition.columns if not each.dropped}
    columns = tuple(lives.get((each.kind, each.name, each.type), each) for each in read.definition.columns)
    return msgspec.structs.replace(read, definition=msgspec.structs.replace(read.definition, columns=columns))
