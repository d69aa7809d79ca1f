"""Images: each write once, and whole. The facts of a table's rows are kept, and what changes them is told. Pure.

    change rows of an entry --rebuild/changes--> facts --unit--> what stands of them --view--> rows before and after

A fact that several replicas logged, or one of them again, is one fact. The state is bytes in a `Store`, whose keeper
knows no fact; nothing here knows a clock, a disk or where images go.
"""

from tailer.images.image import Image
from tailer.images.merger import Merger
from tailer.images.settings import Settings
from tailer.images.store import Store

__all__ = ["Image", "Merger", "Settings", "Store"]
