"""What operators do with a log: `clean`, with an archive or without one, commands that look, and consumers that come,
are dropped and come again; and what must hold of who begins anew."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.simulation import commands, hostile
from tests.simulation.consumers import BUG, Consumer, Expected, Reader, ViolationError
from tests.simulation.disk import Disk

LOOKS: Final = (
    ("status", "{log}"),
    ("status", "{log}", "--max-lag", "1s", "--output", "json"),
    ("status", "{address}", "--token-file", "{token}"),
    ("consumers", "{log}"),
    ("schema", "{log}"),
    ("schema", "{log}", "--changes", "--source", "--output", "json"),
    ("schema", "{address}", "--token-file", "{token}"),
    ("verify", "{log}"),
    ("inspect", "{log}"),
    ("inspect", "{log}", "--entries"),
    ("inspect", "{address}", "--tables", "--token-file", "{token}"),
    ("quarantine", "{log}"),
    ("images", "{log}", "--image-state", "{images}"),
    ("images", "{log}", "--image-state", "{images}", "--table", "ks.flat", "--key", '{{"k":1}}'),
    ("clean", "{log}", "--dry-run"),
    ("archive", "{archive}", "list"),
)
"""Commands that change nothing."""

TOKEN: Final = "ours-ours-ours-ours"
"""Of clients that may have any consumer."""

TOKENS: Final = f"""[ours]
token = "{TOKEN}"
[hostile]
token = "{hostile.TOKEN}"
prefix = "hostile-"
consumers = 2
"""


def cleaned(folder: Path, archive: Path | None) -> int:
    """One run of `cdc-tail clean`, without waiting for anybody."""
    from tailer.errors import CdcError
    from tailer.retention.clean import CleanOptions, clean
    from tailer.retention.needed import Ages
    from tailer.stores.open import open_store

    try:
        store = None if archive is None else open_store(str(archive))
        clean(folder, CleanOptions(archive=store), ages=Ages(0.0, 0.0))
    except CdcError as error:
        return error.code
    except OSError:
        return 8
    return 0


def command(words: Sequence[str], heard: commands.Heard = lambda line: None) -> int:
    """One run of `cdc-tail`, which may end with any documented exit code."""
    lines: list[bytes] = []
    code = commands.run(words, heard, lines.append)
    if code == BUG:
        raise ViolationError(f"`cdc-tail {' '.join(words)}` ended with exit {BUG}: {lines[-1:]}")
    return code


class Place:
    """The rows of a log that its folder has."""

    def __init__(self, disk: Disk, folder: Path, expected: Expected) -> None:
        self._disk, self._folder, self._expected = disk, str(folder), expected

    def rows(self) -> tuple[int, int]:
        """The number of the first one that it has, and of the first one of its last segment."""
        names = self._disk.names(self._disk.find(self._folder), self._folder)
        there = sorted(int(name.split("-")[-1].removesuffix(".log")) for name in names if name.endswith(".log"))
        if not there:
            return self._expected.count(), self._expected.count()
        return self._expected.first_of(there[0]), self._expected.first_of(there[-1])


class Serving:
    """`cdc-tail serve` of a log: its supervisor starts it again a moment after its end."""

    def __init__(self, folder: Path, address: str, tokens: Path) -> None:
        self._words = ["serve", str(folder), "--listen", address, "--token-file", str(tokens)]

    def run(self) -> int:
        code = command(self._words)
        time.sleep(1.0)
        return code


class Visitor(Reader):
    """A consumer that an operator drops now and then. It begins anew with what is there by then: all rows from some one
    on, and all that there ever were where there is an archive."""

    def __init__(self, name: str, folder: Path, expected: Expected, *, whole: bool, **options: Any) -> None:
        super().__init__(name, folder, expected, **options)
        self._whole = whole
        self._begins = True
        self._range: tuple[int, int] | None = None
        """Where it was put, the rows that may come next."""

    def behind(self, random: Random) -> int | None:
        """Some row that it may be put at."""
        count = self.expected.count()
        return random.randrange(count) if count else None

    def moved(self, first: int, last: int) -> None:
        """It goes on with one of the rows from `first` to `last`."""
        self.dropped()
        self._range = first, last

    def dropped(self) -> None:
        """It is known nowhere any more."""
        self._begins = True
        self._range = None
        self.taken = self._confirmed = 0
        for kept in (self._had, self._next, self._unconfirmed):
            kept.clear()

    def _take(self, row: dict[str, Any], at: int | None) -> int:
        if self._begins:
            self._confirmed = self.taken = self._first(row)
            self._begins = False
        return super()._take(row, at)

    def _first(self, row: dict[str, Any]) -> int:
        number = self._expected.number_of(row)
        if self._range is not None:
            if not self._range[0] <= number <= self._range[1]:
                raise ViolationError(f"{self.name} was put at rows {self._range}, and goes on with row {number}")
        elif self._whole and number != 0:
            raise ViolationError(f"{self.name} begins with row {number}, and an archive has those before it")
        return number


class BatchReader(Consumer):
    """One batch read of all that is there. `whole`: from the first row on that there ever was."""

    def __init__(self, folder: Path, expected: Expected, *, whole: bool, **options: Any) -> None:
        super().__init__("batch", folder)
        self._expected, self._whole, self._options = expected, whole, options
        self.end = 0
        """Number of the row behind the last one that the last run gave."""

    def run(self, random: Random | None = None, count: int = 0) -> int:
        """One read: of all that is there, or of some of the first `count` rows."""
        import tailer
        from tailer.errors import CdcError

        if random is None or not count:
            between, first, last = {}, None, None
        else:
            first, start = self._expected.entry_of(random.randrange(count))
            last, end = self._expected.entry_of(random.randrange(first, count))
            between = {"start": start, "end": end}
        at = first if first is not None else 0 if self._whole else None
        try:
            named = {} if self._expected.node is None else {"node": self._expected.node}
            for batch in tailer.open(self._folder, **named, **self._options).read(**between):
                for row in batch.to_pylist():
                    number = self._expected.number_of(row)
                    expected = number if at is None else at
                    if number != expected and not self._expected.back:
                        raise ViolationError(f"a batch read got row {number} in place of row {expected}")
                    at = number + 1
        except CdcError as error:
            return self._ended(f"exit {error.code}: {error.sentence()}", error.code)
        except OSError as error:
            return self._ended(str(error), 8)
        if last is not None and at != last and not self._expected.back:
            raise ViolationError(f"a batch read from row {first} ends before row {at} in place of row {last}")
        self.end = at or 0
        return 0

    def check_end(self) -> None:
        """Of a run in which nothing failed."""
        if self.end != self._expected.count() and not self._expected.back:
            last = self.errors[-1] if self.errors else "no error was reported"
            raise ViolationError(f"a batch read ends before row {self.end} of {self._expected.count()}; {last}")


class Unpacking:
    """An operator restores the archive into a folder of its own, and reads that: it has all rows from the first on."""

    def __init__(self, archive: Path, into: Path, expected: Expected, **options: Any) -> None:
        self._words = ["archive", str(archive), "restore", str(into)]
        self._batch = BatchReader(into, expected, whole=True, **options)

    def run(self) -> int:
        """Bring back what has come since, and read all of it."""
        return command(self._words) or self._batch.run()
