"""Many changes appended with few looks at the lock: in runs, and one by one what a run stops at. Touches no bytes."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from tailer.errors import CdcError
from writer_hooks.appender import AnyChange
from writer_hooks.ticket import Ticket
from writer_hooks.transaction import Owner

RUN_MAX: Final = 256
"""Changes for which nobody else gets the lock."""


def append_all(log: Owner, changes: Iterable[AnyChange]) -> Ticket:
    """`SegmentLog.append_many`. The ticket of none is that of what the log has."""
    source = iter(changes)
    appended, end = 0, log.appender.last()
    more = True
    while more:
        run: list[AnyChange] = []
        try:
            # What it holds when the iterable raises is appended too.
            run.extend(islice(source, RUN_MAX))
        finally:
            if run:
                end = _append_run(log, run, appended)
        appended += len(run)
        more = len(run) == RUN_MAX
    return log.ticket(end)


def _append_run(log: Owner, run: Sequence[AnyChange], before: int) -> int:
    appender = log.appender
    number = end = 0
    try:
        while number < len(run):
            if appender.full:
                log.relieve()
            number, end = appender.append_run(run, number)
            if number < len(run) and not appender.full:
                end = appender.append(run[number])
                number += 1
            if appender.attention:
                log.appended()
    except CdcError as error:
        # One of its own: of a log that is dead everybody gets the same one.
        noted = copy.copy(error)
        noted.__notes__ = [*getattr(error, "__notes__", ()), _note(before + number)]
        raise noted from error
    except Exception as error:
        error.add_note(_note(before + number))
        raise
    return end


def _note(appended: int) -> str:
    return f"append_many: {appended} changes before it were appended"
