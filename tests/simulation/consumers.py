"""The processes that read the log with the product, and the invariants of the rows that they receive."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from tests.simulation import commands
from tests.simulation.world import this_process


class ViolationError(AssertionError):
    """An invariant does not hold."""


BUG: Final = 1
"""The exit code of no documented error."""

IN_VAIN_MAX: Final = 30
"""After so many errors in turn a person is needed."""


ASIDE_MIN: Final = 4
"""Of so many entries that were put aside a notice comes before a kill, once at least."""


class Expected(Protocol):
    """The rows that must come, numbered from 0 on in the order of the log: by what was written, not by what is read."""

    node: str | None
    """What the log's node is called."""

    back: bool
    """Whether its clock goes back."""

    def number_of(self, row: dict[str, Any]) -> int:
        """The number of a row that came. ViolationError where it may not come, or says something else."""
        ...

    def place_of(self, number: int) -> tuple[int, int]:
        """The segment of a row, and which of its rows it is."""
        ...

    def entry_of(self, number: int) -> tuple[int, str]:
        """The first row of the entry that a row is of, and the entry's position as text."""
        ...

    def first_of(self, segment: int) -> int:
        """The number of the first row that stands in a segment or behind it."""
        ...

    def count(self) -> int:
        """How many must have come by now, if nothing is under way."""
        ...


class Consumer:
    """What consumers of rows and of row images share: a name, the log's folder, and how their runs ended."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self._folder = name, folder
        self.errors: list[str] = []
        self.told: list[list[str]] = []
        """What each run of a command had to say."""
        self.logs: list[Any] = []
        """Of each run in Python the `Log`, which has the notices."""
        self.advice: list[str] = []
        """What the last error tells an operator to do."""
        self._in_vain = 0
        """Number of runs in succession that ended with an error before anything was delivered."""

    def try_again(self) -> None:
        """A person has removed the cause of its errors."""
        self._in_vain = 0

    def _ended(self, error: str, code: int) -> int:
        """Count a run that ended with an error; its supervisor waits, longer each time. Returns the exit code."""
        if self._is_there():
            self.errors.append(error)
            self._in_vain += 1
            told = re.search(r"cdc-tail consumers DIR deliver (\S+) ([\d ]+)\.", error)
            self.advice = [] if told is None else ["consumers", str(self._folder), "deliver", told[1], *told[2].split()]
        time.sleep(min(1.0, 0.01 * 2**self._in_vain))
        return code

    def _command(self, words: Sequence[str], heard: commands.Heard) -> int:
        """One run of `cdc-tail`: its exit code, counted."""
        told: list[str] = []
        self.told.append(told)
        violations: list[ViolationError] = []

        def taken(line: bytes) -> None:
            try:
                heard(line)
            except ViolationError as error:
                violations.append(error)
                raise

        code = commands.run(words, taken, lambda line: told.append(line.decode()))
        last = next((line for line in reversed(told) if line.startswith("cdc-tail:")), "nothing was said")
        if violations:
            # It stands behind the exit code.
            raise violations[0]
        if code == BUG:
            raise ViolationError(f"{self.name} ended with exit {BUG}: {last}")
        return self._ended(f"exit {code}: {last}", code)

    def check_told_of(self, aside: int) -> None:
        """So many entries were put aside: that is said, unless a kill came before it each time."""
        said = [text for run in (*self.told, *(log.notices for log in self.logs)) for text in run]
        if aside >= ASIDE_MIN and not any("quarantine" in text for text in said):
            raise ViolationError(f"{self.name} says nothing of {aside} entries that it left out")

    def _is_there(self) -> bool:
        """Whether the log's folder exists: asked of the disk itself, whatever call fails."""
        return this_process().machine.disk.exists(str(self._folder))


class Reader(Consumer):
    """A consumer that follows with the Python API, and takes what comes at once: it has each row once, in order, but
    for the rows of the last batch, which may come again after a kill."""

    def __init__(
        self,
        name: str,
        folder: Path,
        expected: Expected,
        *,
        address: str | None = None,
        tries: int = 1,
        **options: Any,
    ) -> None:
        """`address`: of the folder's node, where it is read over HTTP. `tries`: so often a process goes on after an
        error."""
        super().__init__(name, folder)
        self._tries = tries
        self._expected, self._options = expected, options
        self._place = address or folder
        self.taken = 0
        """So many of the rows that must come have come, all from the first on."""
        self._confirmed = 0
        """So many never come again."""
        self._had: set[int] = set()
        """Where the clock goes back: the rows that came, how many of each segment, and those that may come again."""
        self._next: dict[int, int] = {}
        self._unconfirmed: set[int] = set()
        self._again: set[int] = set()

    @property
    def expected(self) -> Expected:
        """The rows that must come."""
        return self._expected

    def run(self) -> int:
        """One run: until it is killed, or ends with an exit code."""
        code = self._follow()
        for _ in range(self._tries - 1):
            code = self._follow()
        return code

    def _follow(self) -> int:
        import tailer
        from tailer.errors import CdcError

        at: int | None = None
        self._again |= self._unconfirmed
        self._unconfirmed = set()
        try:
            named = {} if self._expected.node is None else {"node": self._expected.node}
            log = tailer.open(self._place, consumer=self.name, **named, **self._options)
            self.logs.append(log)
            for batch in log.follow():
                if at is not None:
                    # Who asks for more has what came before.
                    self._confirmed = at
                    self._again.clear()
                    self._unconfirmed.clear()
                for row in batch.to_pylist():
                    at = self._take(row, at)
        except CdcError as error:
            return self._ended(f"exit {error.code}: {error.sentence()}", error.code)
        except OSError as error:
            # What the system refuses comes as it is.
            return self._ended(str(error), 8)
        return 0

    def _take(self, row: dict[str, Any], at: int | None) -> int:
        """The number of the row that comes next in this run."""
        number = self._expected.number_of(row)
        if self._expected.back:
            return self._take_in_its_segment(number)
        if at is None and not self._confirmed <= number <= self.taken:
            raise ViolationError(
                f"{self.name} goes on with row {number}; it had {self._confirmed} to {self.taken} of them"
            )
        if at is not None and number != at:
            raise ViolationError(f"{self.name} got row {number} in place of row {at}")
        self._in_vain = 0
        self.taken = max(self.taken, number + 1)
        return number + 1

    def _take_in_its_segment(self, number: int) -> int:
        """Each row of a segment comes behind the one before it, once."""
        segment, index = self._expected.place_of(number)
        if number not in self._had:
            if index != self._next.get(segment, 0):
                raise ViolationError(
                    f"{self.name} got row {index} of segment {segment}, not {self._next.get(segment, 0)}"
                )
            self._next[segment] = index + 1
            self._had.add(number)
        elif number not in self._again:
            raise ViolationError(f"{self.name} got row {index} of segment {segment} again")
        self._unconfirmed.add(number)
        self._in_vain, self.taken = 0, len(self._had)
        return number + 1

    def goes_on(self) -> bool:
        """Whether it may still get what it lacks: it does not end with an error again and again."""
        return self._in_vain < IN_VAIN_MAX and not self.has_all()

    def has_all(self) -> bool:
        return self.taken == self._expected.count()

    def check_end(self) -> None:
        if not self.has_all():
            last = self.errors[-1] if self.errors else "no error was reported"
            raise ViolationError(f"{self.name} has {self.taken} of {self._expected.count()} rows; {last}")


class Comparing(Consumer):
    """A consumer of which everything is compared with what SELECT at ALL shows in the end."""

    what = ""
    """What of it is compared."""

    _compared: tuple[tuple[int, ...], str | None] | None = None

    def state(self) -> tuple[int, ...]:
        """A difference changes no more often than this."""
        raise NotImplementedError

    def compare(self) -> str | None:
        """How it differs; None where it does not."""
        raise NotImplementedError

    def difference(self) -> str | None:
        """See `compare`, which is asked as often as something changes."""
        state = self.state()
        if self._compared is None or self._compared[0] != state:
            self._compared = state, self.compare()
        return self._compared[1]

    def _feed(self, words: Sequence[str]) -> int:
        """One run of a command that feeds a target, of which `taken` tells: its exit code."""
        before = self.taken
        code = self._command(words, lambda line: None)
        if self.taken > before:
            self._in_vain = 0
        return code

    def goes_on(self) -> bool:
        return self._in_vain < IN_VAIN_MAX and self.difference() is not None

    def check_end(self) -> None:
        if difference := self.difference():
            last = self.errors[-1] if self.errors else "no error was reported"
            raise ViolationError(f"the {self.what} of {self.name} are not what SELECT shows: {difference}; {last}")
