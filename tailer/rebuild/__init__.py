"""A table's rows from its changes: last write wins, as the server decides it. Pure; knows no Spark and no clock.

    changes --changes--> facts --state--> the facts that still matter --rows--> rows alive at a time

The facts of a table are a set: their order, repetition and division into batches make no difference to what comes out.
"""

from tailer.rebuild.table import Table

__all__ = ["Table"]
