"""What `cdc-tail stream` shows of its way on standard error: a line that changes on a terminal, else a line at times.

Knows figures, not where they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from tailer.cli.standard_error import STANDARD_ERROR
from tailer.limits import KIB

if TYPE_CHECKING:
    from tailer.spark.progress import Figures

LOOK_SECONDS: Final = 1.0
"""How often figures are asked for: seldom enough that a query does not feel it."""
_LOOKS: Final = 10
"""The pace is that of so many looks."""

Say = Callable[[str], None]
Read = Callable[[], "Figures"]


class ProgressLine:
    """Shows figures every so many seconds in which something happened, and at the end. `show`: at every look instead.

    `every` 0: nothing, ever.
    """

    def __init__(self, say: Say, every: float, clock: Callable[[], float], show: Say | None = None) -> None:
        self._say = say
        self._every = every
        self._clock = clock
        self._show = show
        self._looked = self._told = clock()
        self._batches = 0
        self._paces = [(clock(), 0)]
        self._read: Read | None = None

    def watch(self, read: Read) -> None:
        """To be called often; asks for figures when it is time to."""
        self._read = read
        now = self._clock()
        if not self._every or now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        figures = read()
        self._paces = [*self._paces[-_LOOKS:], (now, figures.rows)]
        text = line(figures, self._rows_a_second())
        if self._show is not None:
            self._show(text)
        elif now - self._told >= self._every and figures.batches > self._batches:
            self._told, self._batches = now, figures.batches
            self._say(text)

    def end(self) -> None:
        """The sums, whatever was shown before."""
        # Also where the query failed: then the JVM may be gone, and why is told elsewhere.
        with suppress(Exception):
            if self._every and self._read is not None:
                self._say(line(self._read()))

    def _rows_a_second(self) -> float:
        (first, before), (last, after) = self._paces[0], self._paces[-1]
        return (after - before) / (last - first) if last > first else 0.0


@contextmanager
def progress_line(say: Say, every: float, clock: Callable[[], float], *, scrolls: bool) -> Iterator[ProgressLine]:
    """A way to show progress that fits where standard error goes.

    `scrolls`: rows are written to the same terminal, and would tear a line at its bottom.
    """
    if not (every and STANDARD_ERROR.draws()) or scrolls:
        yield ProgressLine(say, every, clock)
        return
    from rich.console import Console

    with Console(stderr=True).status("waiting for the first micro-batch") as status:
        yield ProgressLine(say, every, clock, status.update)


def line(figures: Figures, pace: float | None = None) -> str:
    """The figures in words; `pace` in rows a second."""
    batches = "micro-batch" if figures.batches == 1 else "micro-batches"
    parts = [f"{figures.rows:,} rows in {figures.batches:,} {batches}"]
    if pace is not None:
        parts.append(f"{pace:,.0f} rows/s")
    if figures.batches:
        parts.append(f"the last took {figures.batch_ms:,} ms")
    if figures.backlog_bytes is not None:
        parts.append(f"backlog {size(figures.backlog_bytes)} in {figures.backlog_segments} segments")
    if figures.lost:
        parts.append(f"away: {' '.join(figures.lost)}")
    if figures.losses:
        parts.append(f"losses accepted: {figures.losses}")
    if figures.quarantined:
        parts.append(f"entries in quarantine: {figures.quarantined}")
    return ", ".join(parts)


def size(number: float) -> str:
    """Bytes for people."""
    if number < KIB:
        return f"{number:.0f} bytes"
    for unit in ("KiB", "MiB"):
        number /= KIB
        if number < KIB:
            return f"{number:.1f} {unit}"
    return f"{number / KIB:.1f} GiB"
