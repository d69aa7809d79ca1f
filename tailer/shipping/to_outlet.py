"""`ship --to kafka`: the rows of data files into an outlet, as `follow` would have brought them there from the log.

The outlet keeps for each node how far the shipper is: the number of a file, and how many of its rows. So rows are there
once, and a large file is committed in parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from tailer.errors import CdcError, RefusedError
from tailer.images.image import arrow_schema
from tailer.images.image_rows import ImageRows
from tailer.rows.choice import AnyBatch
from tailer.schema.model import TableDefinition
from tailer.shipping.file_images import image_batches
from tailer.shipping.file_rows import row_batches
from tailer.sinks.base import Rows
from tailer.sinks.files.series import DataFile
from tailer.sinks.in_force import Version
from tailer.sinks.outlet import ImagesForm, Outlet, OutletContext, OutletKey, Place
from tailer.sinks.outlets import open_outlet
from tailer.typed_decode import decode_json
from tailer.versions import UNDECODABLE, Versioned, check_version

Shipped: TypeAlias = "AnyBatch | ImageRows"
Say = Callable[[str], None]

VERSION: Final = 1
"""Of `At`."""

_GENERATION: Final = 1
"""A shipper is never moved: it is forgotten, or takes another name."""


class At(msgspec.Struct, frozen=True):
    """How far a target is: it has all files before `file`, and of that one so many rows; `whole`: all of them."""

    file: int
    rows: int
    whole: bool
    v: int = VERSION

    @property
    def place(self) -> Place:
        return Place(msgspec.json.encode(self).decode(), _GENERATION)


def at_of(place: Place, where: str) -> At:
    """How far a target is by the place that it keeps. RefusedError for a place that no shipper left, and for one of a
    later version. Earlier programs left the version out."""
    try:
        check_version(decode_json(place.offset, Versioned).v, VERSION, "the position", file=where)
        return decode_json(place.offset, At)
    except UNDECODABLE as error:
        raise RefusedError(
            f"{where} keeps a position that no shipper left there",
            expected="the number of a data file and of its rows",
            found=repr(place.offset[:200]),
            remedy="Give the shipper another name (--consumer).",
        ) from error


def open_target(to: str, values: Mapping[str, Any], say: Say) -> OutletTarget:
    """The target of an outlet's `--to`. UsageError."""
    own = {"commit_seconds": 0.0, "at_least_once": False, "format": values["format"] or "rows"}
    return OutletTarget(to, {**values, **own}, say)


class OutletTarget:
    """A Target. Each node has an outlet of its own, under a key that has the shipper's name."""

    keeps_numbers = True

    def __init__(self, to: str, values: Mapping[str, Any], say: Say) -> None:
        self.name = to
        self._values = values
        self._say = say
        self._nodes: dict[str, _Node] = {}

    def standing(self, newest: DataFile) -> int | None:
        held = self._nodes.get(newest.node)
        if held is None:
            key, images = newest.index.of, ImagesForm(True, arrow_schema) if newest.index.images else None
            # No consumer of a log has a slash in its name.
            own = key._replace(consumer=f"ship/{self._values['consumer']}/{key.consumer}")
            held = self._nodes[newest.node] = _Node(self.name, self._values, own, images, self._say)
        return held.stands()

    def send(self, file: DataFile) -> None:
        self._nodes[file.node].send(file)

    def close(self) -> None:
        for each in self._nodes.values():
            each.close()


class _Node:
    """One node's outlet. After TargetAwayError the same file is given again, and goes on where it was."""

    def __init__(self, to: str, values: Mapping[str, Any], key: OutletKey, images: ImagesForm | None, say: Say) -> None:
        self._tables: dict[str, TableDefinition] = {}
        self._versions: dict[str, tuple[Version, ...]] = {}
        context = OutletContext(
            key, self._tables.get, None, _refused, say, images=images, versions=lambda id: self._versions.get(id, ())
        )
        self._outlet: Outlet = open_outlet(to, values, context)
        self._stands: At | None = None
        self._committing: At | None = None
        self._file: int | None = None
        self._batches: Iterator[Shipped] = iter(())
        self._rows = self._held = 0

    def stands(self) -> int | None:
        """The last file that the target has whole; None where it has nothing."""
        place = self._outlet.open()
        self._stands = None if place is None else at_of(place, self._outlet.name)
        if self._stands is None:
            return None
        return self._stands.file if self._stands.whole else self._stands.file - 1

    def send(self, file: DataFile) -> None:
        number = file.index.number
        if self._file != number:
            self._begin(file)
        elif self._committing is not None:
            self._settle(self._committing)
        for batch in self._batches:
            held = self._outlet.write(batch)
            self._rows += len(batch)
            self._held += len(batch)
            if self._full(held):
                self._commit(At(number, self._rows, whole=False))
        if self._stands != (whole := At(number, self._rows, whole=True)):
            self._commit(whole)
        self._file = None

    def close(self) -> None:
        self._outlet.close()

    def _begin(self, file: DataFile) -> None:
        self._file, self._rows = file.index.number, 0
        known = {each.definition.id: each for each in file.index.tables if each.definition is not None}
        self._tables.clear()
        self._tables.update((id, each.definition) for id, each in known.items() if each.definition is not None)
        self._versions = {id: each.versions for id, each in known.items()}
        make = image_batches if file.index.images else row_batches
        self._batches = make(file, self._outlet.name)
        stands = self._stands
        if stands is not None and stands.file == file.index.number and not stands.whole:
            self._batches = _behind(self._batches, stands.rows)
            self._rows = stands.rows

    def _full(self, held: int) -> bool:
        rows, length, _ = self._outlet.bounds
        return (rows is not None and self._held >= rows) or (length is not None and held >= length)

    def _commit(self, at: At) -> None:
        self._committing = at
        before = None if self._stands is None else self._stands.place
        self._outlet.commit(before, at.place)
        self._stands, self._committing, self._held = at, None, 0

    def _settle(self, at: At) -> None:
        """What became of a commit whose answer was lost: the target tells, and only then anything is sent again."""
        place, before = self._outlet.open(), None if self._stands is None else self._stands.place
        if place == at.place:
            self._outlet.settled()
            self._stands, self._committing, self._held = at, None, 0
        elif place == before:
            self._commit(at)
        else:
            raise RefusedError(
                f"{self._outlet.name} was moved by somebody else",
                expected="this shipper's place or the one before it",
                found="none" if place is None else place.offset,
                remedy="Does another process ship under the same name? Let one go on.",
            )


def _behind(batches: Iterator[Shipped], rows: int) -> Iterator[Shipped]:
    """Without so many rows at the beginning."""
    left = rows
    for batch in batches:
        if left < len(batch):
            yield batch.slice(left)
        left = max(0, left - len(batch))


def _refused(batch: Rows, row: int, error: CdcError) -> None:
    """There is no quarantine of files: they stay."""
    raise error
