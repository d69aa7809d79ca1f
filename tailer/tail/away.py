"""Nodes that are away while others go on: which errors mean that one is, and what is said of it, and when.

A folder that is not there, cannot be read, or does not answer says nothing of the log that was in it. Opens no log.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tailer.errors import CdcError, RefusedError, SystemFailedError
from tailer.options.log_place import LogPlace
from tailer.state.folder_journal import FILE_NAME
from tailer.system_errors import is_own_limit, system_error

if TYPE_CHECKING:
    from tailer.tail.follow import Say

RETRY_SECONDS: Final = 1.0
"""How often a node that is away is tried."""

AGAIN_SECONDS: Final = 60.0
"""How often it is said again."""


def lost_by(error: CdcError | OSError, place: LogPlace, state: Path | None) -> bool:
    """Whether an error means that a node is away, and not that something is wrong with its log or this run.

    What this process itself has no more of (descriptors, memory) says nothing of a node. What else the system refuses
    is worth another try. Of all else the folder tells: where it cannot be listed, or nothing is there, neither log nor
    state, what failed had nothing to look at. Asks the file system: it may hang as that does.
    """
    if is_own_limit(error):
        return False
    return isinstance(error, SystemFailedError | OSError) or nothing_at(place, state)


def lost_while_open(error: CdcError | OSError, place: LogPlace, state: Path | None) -> bool:
    """The same of a log that was open before. What its state refuses then may be that it was not there for a moment;
    one that really is another refuses again when it is opened anew."""
    return lost_by(error, place, state) or of_state(error, state)


def of_state(error: CdcError | OSError, state: Path | None) -> bool:
    """Whether it is a state folder that refuses something."""
    if not isinstance(error, RefusedError) or error.file is None or state is None:
        return False
    return Path(error.file).is_relative_to(state)


def nothing_at(place: LogPlace, state: Path | None) -> bool:
    """Whether a folder cannot be listed, or is empty beside an empty state: as before its file system is mounted.

    Of a node that is asked its answers tell.
    """
    if not isinstance(place, Path) or state is None:
        return False
    try:
        with os.scandir(place) as found:
            return next(found, None) is None and not (state / FILE_NAME).exists()
    except OSError as error:
        return not is_own_limit(error)


def documented(error: CdcError | OSError) -> CdcError:
    """The error as the one that it is told as."""
    return error if isinstance(error, CdcError) else system_error("", error)


def reason(error: CdcError) -> str:
    """What and where, for a sentence of somebody else's."""
    return error.what if error.file is None else f"{error.what} ({error.file})"


def silent(seconds: float) -> CdcError:
    """The error of a node that does not answer."""
    return SystemFailedError(
        f"its folder has not answered for {seconds:.0f} s", remedy="Is it on a network file system that hangs?"
    )


@dataclass(slots=True)
class Lost:
    """A node that is away. `since`, `told`: by the clock of who says so."""

    error: CdcError
    since: float
    told: float


class LostNodes:
    """Those of one run, and what is said of them: at once, again each minute, and when they are back."""

    def __init__(self, say: Say, clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._clock = clock
        self._lost: dict[str, Lost] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._lost

    def __bool__(self) -> bool:
        return bool(self._lost)

    def lose(self, name: str, error: CdcError) -> None:
        """A node was found away; said if that is new, or was said a minute ago."""
        now = self._clock()
        if (lost := self._lost.get(name)) is None:
            self._lost[name] = Lost(error, now, now)
            self._say(
                f"warning: node {name} is away: {error.sentence()} The others go on; its rows come when it is back."
            )
            return
        lost.error = error
        self.remind((name,))

    def found(self, name: str) -> None:
        """A node answers."""
        if (lost := self._lost.pop(name, None)) is not None:
            self._say(f"node {name} is there again after {self._clock() - lost.since:.0f} s")

    def forget(self, name: str) -> None:
        """Nobody asks for it any more."""
        self._lost.pop(name, None)

    def remind(self, names: Iterable[str] | None = None) -> None:
        """Say again what was said a minute ago, and holds."""
        now = self._clock()
        for name in list(self._lost if names is None else names):
            lost = self._lost[name]
            if now - lost.told >= AGAIN_SECONDS:
                lost.told = now
                self._say(f"warning: node {name} has been away for {now - lost.since:.0f} s: {lost.error.sentence()}")

    def error(self, name: str) -> CdcError:
        """Why a node that is away is."""
        return self._lost[name].error

    def seconds(self) -> dict[str, float]:
        """Those that are away, and for how long."""
        now = self._clock()
        return {name: now - lost.since for name, lost in self._lost.items()}
