"""Which data files may go, and their removal: sent by every registered shipper, and never the newest.

An index goes before its data file and is durably gone first: so whoever finds an index finds the file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tailer.on_disk import sync_folder
from tailer.shipping.shippers import ShipperFile, locked, registered
from tailer.sinks.files.index import index_name, indexed_numbers, is_index, number_of
from tailer.sinks.files.series import DataFile, Series
from tailer.system_errors import told


class Keeping(NamedTuple):
    """What stays though it was sent: so many of the newest, one at least, and whatever is not so many seconds old."""

    files: int = 1
    seconds: float = 0.0


def sent_by_all(shippers: Sequence[ShipperFile], node: str) -> int | None:
    """The number up to which every shipper has sent a node's files; None where one has not begun, or there is none."""
    sent = [None if (held := each.nodes.get(node)) is None else held.upto for each in shippers]
    known = [number for number in sent if number is not None]
    return min(known) if known and len(known) == len(sent) else None


def removable(numbers: Sequence[int], upto: int | None, keeping: Keeping) -> list[int]:
    """Of a node's numbers, ascending, those that may go by their numbers; their age is another matter."""
    kept = max(1, keeping.files)
    return [] if upto is None else [number for number in numbers[:-kept] if number <= upto]


def remove_sent(series: Series, folder: Path, keeping: Keeping, clock: Callable[[], float] = time.time) -> int:
    """Remove what may go of a node's files; how many went."""
    numbers = series.numbers()
    if len(numbers) <= max(1, keeping.files):
        return 0
    with locked(folder), told("cannot remove data files", series.folder, writes=True):
        # Again, for somebody may have registered: who did sees what is left.
        numbers = series.numbers()
        going = removable(numbers, sent_by_all(registered(folder), series.node), keeping)
        old = _old_enough(series, going, clock() - keeping.seconds)
        for file in old:
            (series.folder / index_name(file.index.number)).unlink()
        if old:
            sync_folder(series.folder)
            _remove_without_index(series)
    return len(old)


def remove_left_over(series: Series, folder: Path) -> None:
    """What a removal left that was killed, or lost its power."""
    with locked(folder), told("cannot remove data files", series.folder, writes=True):
        _remove_without_index(series)


def _old_enough(series: Series, numbers: Sequence[int], before: float) -> list[DataFile]:
    """From the first on, up to one that is too young: numbers stay without gaps."""
    found: list[DataFile] = []
    for number in numbers:
        file = series.file(number)
        if file is None or file.index.made > before:
            break
        found.append(file)
    return found


def _remove_without_index(series: Series) -> None:
    """Data files below the first index."""
    names = series.names()
    lowest = indexed_numbers(names)[0]
    for name in names:
        number = number_of(name)
        if number is not None and number < lowest and not is_index(name):
            (series.folder / name).unlink(missing_ok=True)
