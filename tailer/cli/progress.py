"""A progress bar for work that reads a whole log folder. Knows sizes of files and nothing of what is in them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tailer.cli.standard_error import STANDARD_ERROR

if TYPE_CHECKING:
    from tailer.definitions.whole_folder import Progress
    from tailer.segments.folder import LogFile


@contextlib.contextmanager
def progress_bar(what: str, logs: Mapping[int, LogFile]) -> Iterator[Progress]:
    """A bar on standard error, where one may be drawn; the segments are read in order of their ids."""
    if not STANDARD_ERROR.draws():
        yield lambda segment, at: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    before, total = {}, 0
    for segment, log in sorted(logs.items()):
        before[segment] = total
        total += log.size
    columns = (TextColumn(what), BarColumn(None), TransferSpeedColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda segment, at: bar.update(task, completed=before.get(segment, 0) + at)
