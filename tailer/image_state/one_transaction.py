"""What stands in the file of images, as one transaction sees it: facts, places, who it belongs to, and the outbox.

Images leave from the outbox alone, batch by batch, each with a number; no number is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tailer.image_state.lmdb_store import NAMES, LmdbStore
from tailer.images import Image
from tailer.images.encoded import EncodedImages, JoinedImages
from tailer.images.image_rows import ImageRows, JoinedRows
from tailer.images.store import number_of

if TYPE_CHECKING:
    import lmdb

ABOUT: Final = b"about"
OUTBOX: Final = b"outbox"
TABLES: Final = (*NAMES, ABOUT, OUTBOX)

_GIVEN: Final = b"given"
_NUMBER: Final = 8


@dataclass(frozen=True)
class ImageBatch:
    """Images that came of one transaction. `number`: one more than that of the batch before."""

    number: int
    joined: JoinedImages

    @property
    def images(self) -> list[Image]:
        """The objects."""
        return self.joined.images

    def rows(self, *, before: bool) -> ImageRows:
        """The images for a sink. `before`: see ImageRows."""
        return JoinedRows(self.joined, before=before)


class Transaction:
    """`store`: the facts."""

    def __init__(
        self, transaction: lmdb.Transaction[bytes], tables: dict[bytes, lmdb._Database], store: LmdbStore | None = None
    ) -> None:
        if store is not None:
            store.go_on(transaction)
        self.store = store or LmdbStore(transaction, tables)
        self._transaction = transaction
        self._about = tables[ABOUT]
        self._outbox = tables[OUTBOX]
        self._rows = {name: tables[name] for name in NAMES}

    def about(self, key: str) -> bytes | None:
        """What is kept under a name that is no fact."""
        return self._transaction.get(key.encode(), db=self._about)

    def put_about(self, key: str, value: bytes) -> None:
        """Keep it."""
        self._transaction.put(key.encode(), value, db=self._about)

    def abouts(self, prefix: str) -> dict[str, bytes]:
        """All that is kept under names that begin so, without their beginning."""
        found, start = {}, prefix.encode()
        with self._transaction.cursor(self._about) as cursor:
            there = cursor.set_range(start)
            while there and cursor.key().startswith(start):
                found[cursor.key().decode()[len(prefix) :]] = cursor.value()
                there = cursor.next()
        return found

    @property
    def last(self) -> int:
        """The number of the last batch that there was, 0 before the first."""
        with self._transaction.cursor(self._outbox) as cursor:
            return int.from_bytes(cursor.key(), "big") if cursor.last() else self.given

    @property
    def given(self) -> int:
        """The number of the last batch that was taken out, 0 for none."""
        return number_of(self._transaction.get(_GIVEN, db=self._about))

    def send(self, images: Sequence[Image] | EncodedImages) -> ImageBatch:
        """Put a batch into the outbox."""
        if not isinstance(images, EncodedImages):
            made, images = images, EncodedImages()
            images.add(made)
        batch = ImageBatch(self.last + 1, JoinedImages(images.joined()))
        self._transaction.put(_key(batch.number), batch.joined.data, db=self._outbox)
        return batch

    def take_out(self, upto: int) -> None:
        """Batches up to a number were taken by whoever they were for."""
        if upto > self.given:
            with self._transaction.cursor(self._outbox) as cursor:
                there = cursor.first()
                while there and int.from_bytes(cursor.key(), "big") <= upto:
                    cursor.delete()
                    there = bool(cursor.key())
            self._transaction.put(_GIVEN, _key(upto), db=self._about)

    def waiting(self, behind: int) -> Iterator[ImageBatch]:
        """The batches of the outbox with numbers greater than one."""
        with self._transaction.cursor(self._outbox) as cursor:
            there = cursor.set_range(_key(behind + 1))
            while there:
                joined = JoinedImages(cursor.value())
                # They were written by another run, perhaps of another version: compiled code checks nothing.
                assert len(joined) == len(joined.images), "the decoder has counted"
                yield ImageBatch(int.from_bytes(cursor.key(), "big"), joined)
                there = cursor.next()

    def counts(self) -> dict[str, int]:
        """Rows, and those that something expires in."""
        return {name.decode(): self._transaction.stat(db)["entries"] for name, db in self._rows.items()}


def _key(number: int) -> bytes:
    return number.to_bytes(_NUMBER, "big")
