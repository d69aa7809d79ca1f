"""Progress bars: for work that reads a whole log folder, by the sizes of its files, and for snapshots."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tailer.cli.standard_error import STANDARD_ERROR
from tailer.sinks.text import printable

if TYPE_CHECKING:
    from rich.progress import TaskID

    from tailer.definitions.whole_folder import Progress
    from tailer.segments.folder import LogFile
    from tailer.snapshot.progress import Show, Snapshot


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


@contextlib.contextmanager
def snapshot_bars() -> Iterator[Show | None]:
    """A bar for each table on standard error, told of how far it is; None where none may be drawn."""
    if not STANDARD_ERROR.draws():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from tailer.snapshot.progress import done_of

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(None),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    tasks: dict[str, TaskID] = {}
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:

        def show(now: Snapshot) -> None:
            if now.id not in tasks:
                tasks[now.id] = bar.add_task(printable(now.table), total=1.0)
            bar.update(tasks[now.id], completed=done_of(now), description=f"{printable(now.table)} {now.rows} rows")

        yield show
