"""A process that reads row images with the product, and what must hold of them.

Each sequence is unbroken, no image comes twice, and in the end the fold of all row images is what SELECT shows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from tests.helpers.images.seen import TABLE_WIDE, Seen, bare, values_of
from tests.helpers.images.tables import ModelTable
from tests.simulation.consumers import Comparing, ViolationError
from tests.simulation.nodes import Nodes

Altered = Callable[[Any], ModelTable | None]
"""A table as the schema change left it that an image tells of; None where there is no such change."""

SETTLED_SECONDS: Final = 25.0
"""After so long all TTLs have ended."""


class _TableImages(Seen):
    """The row images of one table. Their sequence numbers must rise; their relation to the clock is not checked."""

    def _sequence(self, image: Any, now_us: int) -> None:
        whose = None if image.op in TABLE_WIDE else image.partition_key
        last = self.numbers.get(whose)
        assert image.prev_seq == last, f"prev_seq where the last was {last}: {image}"
        assert image.seq > (self._before if last is None else last), f"seq not above {last}: {image}"
        self.numbers[whose] = image.seq
        if image.op == "drop":
            # Partitions of the next incarnation begin again, above all sequence numbers of this one.
            self._before = max(number for number in self.numbers.values())
            self.numbers = {None: image.seq}

    def __init__(self, altered: Altered) -> None:
        super().__init__()
        self.numbers: dict[str | None, int] = {}
        self._before = 0
        self._table_at = altered
        self._altered: Any = None
        """The image of the last schema change, until the images that it caused have ended."""

    def take_one(self, image: Any) -> None:
        if self._altered is not None and _place(image) != _place(self._altered):
            self.settle()
        if image.op == "schema":
            self._altered = image
        self.take([image], 0)
        if image.op == "drop":
            self.definition = 0
            for kept in (self.rows, self.complete, self.last):
                kept.clear()

    def settle(self) -> None:
        """Remove the dropped columns of the last schema change from rows without an image since."""
        if self._altered is not None:
            table = self._table_at(self._altered)
            assert table is not None, f"an image of a schema change that is not in the log at {self._altered}"
            self.without(table.dropped & {*self._altered.changed})
            self._altered = None

    def _changed(self, image: Any) -> None:
        if self._altered is None or _place(image) != _place(self._altered) or image.op != "delete":
            super()._changed(image)


def _place(image: Any) -> tuple[Any, ...]:
    return image.node, image.segment, image.offset


class ImageReader(Comparing):
    """A consumer that follows with the Python API and `image="both"`, and takes what comes at once."""

    what = "row images"

    def __init__(self, name: str, folder: Path, state: Path, nodes: Nodes, **options: Any) -> None:
        super().__init__(name, folder)
        self._state = state
        self._nodes, self._options = nodes, options
        self.images: list[dict[str, Any]] = []
        """All, each once, in the order in which they came."""
        self._begun = 0
        """Index of the first image of the last run: no later run delivers an earlier one."""
        self._tables: dict[str, _TableImages] = {}

    @property
    def taken(self) -> int:
        return len(self.images)

    def run(self) -> int:
        """One run: until it is killed, or ends with an exit code."""
        import tailer
        from tailer.errors import CdcError

        at: int | None = None
        try:
            how = {"node": "n1", "consumer": self.name, "image": "both", "image_state": self._state, **self._options}
            log = tailer.open(self._folder, **how)
            self.logs.append(log)
            for batch in log.follow():
                for image in batch.to_pylist():
                    at = self._take(image, at)
        except CdcError as error:
            return self._ended(f"exit {error.code}: {error.sentence()}", error.code)
        except OSError as error:
            # What the system refuses comes as it is.
            return self._ended(str(error), 8)
        return 0

    def _take(self, image: dict[str, Any], at: int | None) -> int:
        """The number of the image that comes next in this run. What was not marked as taken before a kill comes once
        more, the same in all."""
        if at is None:
            again = self.images[self._begun :]
            at = self._begun = self._begun + again.index(image) if image in again else len(self.images)
        if at < len(self.images):
            if image != self.images[at]:
                raise ViolationError(f"{self.name} got {image} in place of {self.images[at]}")
            return at + 1
        self.images.append(image)
        self._in_vain = 0
        id = image["table_id"]
        try:
            if id not in self._nodes.database.missed:
                self._tables.setdefault(id, _TableImages(self._nodes.altered)).take_one(
                    SimpleNamespace(**{**image, "changed": tuple(image["changed"] or ())})
                )
        except AssertionError as error:
            raise ViolationError(f"{self.name}: {error}") from error
        if not image["complete"] and self._is_to_be_whole(image):
            raise ViolationError(f"{self.name}: not known whole, though all of it was read: {image}")
        return at + 1

    def _is_to_be_whole(self, image: Mapping[str, Any]) -> bool:
        """All of a table is read from its CREATE on."""
        return image["op"] not in TABLE_WIDE and image["table_id"] not in self._nodes.database.missed

    def state(self) -> tuple[int, ...]:
        return (len(self.images), *self._nodes.version())

    def compare(self) -> str | None:
        """How the fold differs; None where it does not."""
        for images in self._tables.values():
            images.settle()
        for id, partitions in self._nodes.selected().items():
            if id in self._nodes.database.missed:
                continue
            expected = {(k, key): values for k, rows in partitions.items() for key, values in rows.items()}
            rows = self._tables[id].rows if id in self._tables else {}
            found = {row: values_of(text) for row, text in rows.items()}
            for row in expected.keys() | found.keys():
                mine, theirs = found.get(row), expected.get(row)
                # A column that was added since is null where no image told of it.
                if mine is not None and theirs is not None:
                    mine = {name: bare(mine.get(name)) for name in theirs}
                    theirs = {name: bare(value) for name, value in theirs.items()}
                if mine != theirs:
                    return f"{id} {row}: expected {theirs}, found {mine}"
                if mine is not None and not self._tables[id].complete[row]:
                    return f"{id} {row}: it is not known whole, though all logs were read from the CREATE on"
        return None


_NESTED: Final = ("partition_key", "clustering", "range", "before", "after")


class CommandImages(ImageReader):
    """The same by `cdc-tail follow`, of several nodes: what it prints is taken at once."""

    def __init__(
        self, name: str, folder: Path, logs: Mapping[str, Path | str], state: Path, nodes: Nodes, *words: str
    ) -> None:
        """`logs`: folder or address of each node. `folder`: of the first one."""
        super().__init__(name, folder, state, nodes)
        places = ",".join(f"{node}={folder}" for node, folder in logs.items())
        self._words = ["follow", places, "--consumer", name, "--image", "both", "--image-state", str(state)]
        self._words += words

    def _is_to_be_whole(self, image: Mapping[str, Any]) -> bool:
        """Only once the logs of all nodes have shown the CREATE: `difference` looks at it in the end."""
        return False

    def run(self) -> int:
        at: int | None = None

        def heard(line: bytes) -> None:
            nonlocal at
            image = json.loads(line)
            for name in _NESTED:
                if image[name] is not None:
                    image[name] = json.dumps(image[name], separators=(",", ":"), ensure_ascii=False)
            at = self._take(image, at)

        return self._command([*self._words, "--output", "json"], heard)
