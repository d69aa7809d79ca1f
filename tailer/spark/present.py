"""Which nodes of a query can be looked at now: where a frame is loaded, and before a query begins.

Each is asked in a thread of its own, and one that does not answer is not there. Opens no segment.
"""

from __future__ import annotations

import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from tailer.errors import CdcError
from tailer.options.log_place import LogPlace
from tailer.options.tail import TailOptions
from tailer.options.to_spark import SourceOptions
from tailer.state.home import Home
from tailer.state.log_folder import log_state
from tailer.tail.away import lost_by, nothing_at
from tailer.tail.node_log import home_at, source_at, state_of

ANSWER_SECONDS: Final = 5.0


def present(options: SourceOptions) -> list[tuple[str, LogPlace]]:
    """The nodes that are `there`; what `log_state` raises if none is."""
    found = there(options)
    first = options.places[0][1]
    if not found and isinstance(first, Path):
        log_state(first, options.tail.state)
    return found or list(options.places)


def there(options: SourceOptions) -> list[tuple[str, LogPlace]]:
    """The nodes whose folder is there, or that answer: of several nodes some may come later.

    Of those that a stream waits for without any whose file system is not mounted, or does not answer.
    """
    found: set[str] = set()

    def ask(name: str, place: LogPlace) -> None:
        if _is_there(place, options.of(name, once=True), waits=options.waits):
            found.add(name)

    threads = [threading.Thread(target=ask, args=each, daemon=True) for each in options.places]
    for thread in threads:
        thread.start()
    until = time.monotonic() + ANSWER_SECONDS
    for thread in threads:
        thread.join(max(until - time.monotonic(), 0.0) if options.waits else None)
    return [(name, place) for name, place in options.places if name in found]


def homes(options: SourceOptions) -> dict[str, Home]:
    """The states of the nodes, as far as they can be asked now; that of a folder that is not there yet too."""
    asked = {name for name, _ in there(options)}
    return {
        name: home_at(place, options.of(name, once=False))
        for name, place in options.places
        if isinstance(place, Path) or name in asked
    }


def _is_there(place: LogPlace, tail: TailOptions, *, waits: bool) -> bool:
    if isinstance(place, Path):
        return place.is_dir() and not (waits and nothing_at(place, state_of(place, tail)))
    if not waits:
        # Who reads it is told what is wrong.
        return True
    with closing(source_at(place, tail)) as source:
        try:
            source.look()
        except CdcError as error:
            return not lost_by(error, place, None)
    return True
