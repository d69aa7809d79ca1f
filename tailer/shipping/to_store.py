"""`ship --to s3://…` and `gs://…`: each file as an object, then its index as another. Knows no store's own ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tailer.errors import SystemFailedError
from tailer.shipping.to_folder import other_files
from tailer.sinks.files.index import decode, index_name, indexed_numbers
from tailer.sinks.files.series import DataFile
from tailer.sinks.outlet import TargetAwayError
from tailer.stores.object_store import ObjectStore


def open_target(to: str, values: Mapping[str, Any], say: Callable[[str], None]) -> StoreTarget:
    """The target of an object store's address. UsageError for one that pyarrow does not take, or with a secret."""
    return StoreTarget(ObjectStore(to))


class StoreTarget:
    """A Target: objects below FOLDER/NODE of a bucket."""

    keeps_numbers = True

    def __init__(self, store: ObjectStore) -> None:
        self.name = store.where
        self._store = store

    def standing(self, newest: DataFile) -> int | None:
        node, key = newest.node, newest.index.of
        with _away():
            numbers = indexed_numbers(self._store.names(node))
            if not numbers:
                return None
            name = f"{node}/{index_name(numbers[-1])}"
            index = decode(b"".join(self._store.parts(name)), Path(name))
        if index.of != key:
            raise other_files(index.of, key, f"{self.name}/{node}")
        return index.number

    def send(self, file: DataFile) -> None:
        index = file.index
        with _away():
            if index.data:
                self._store.put(f"{file.node}/{index.data}", file.parts())
            self._store.put(f"{file.node}/{index_name(index.number)}", [index.encode()])

    def close(self) -> None:
        """No connection is kept."""


@contextmanager
def _away() -> Iterator[None]:
    """What failed in the store is worth another try."""
    try:
        yield
    except SystemFailedError as error:
        raise TargetAwayError(error.what, file=error.file, found=error.found, remedy=error.remedy) from error
