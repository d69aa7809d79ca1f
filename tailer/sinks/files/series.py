"""One node's data files in their folder: which there are, what their indexes say, and whether the files are whole.

    DIR/NODE/data-000000000001.jsonl.zst, data-000000000001.idx.json, …

Reads; writes nothing.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tailer.errors import CorruptError, LossError, UsageError
from tailer.limits import MIB
from tailer.sinks.files.index import Index, decode, index_name, indexed_numbers, is_index
from tailer.system_errors import told

if TYPE_CHECKING:
    import pyarrow

_READ_BYTES: Final = MIB


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file and its index. One without rows has an index alone."""

    folder: Path
    index: Index

    @property
    def path(self) -> Path:
        return self.folder / self.index.data

    @property
    def node(self) -> str:
        """Whose log its rows are of."""
        return self.folder.name

    def check(self) -> None:
        """LossError for a data file that is gone, CorruptError for one that is not what its index says."""
        if not self.index.data:
            return
        digest = hashlib.sha256()
        length = 0
        for part in self.parts():
            digest.update(part)
            length += len(part)
        if (length, digest.hexdigest()) != (self.index.length, self.index.sha256):
            raise CorruptError(
                "a data file is not what its index says",
                file=str(self.path),
                expected=f"{self.index.length} bytes with the SHA-256 {self.index.sha256}",
                found=f"{length} bytes, {digest.hexdigest()}",
                remedy="Restore it from a copy.",
            )

    def parts(self) -> Iterator[bytes]:
        """The data file's bytes, piece by piece. LossError where it is gone."""
        with self._opened(), self.path.open("rb") as file:
            while part := file.read(_READ_BYTES):
                yield part

    def lines(self) -> Iterator[bytes]:
        """The lines of a file of lines, without their line feeds. UsageError for an Arrow file."""
        if self.index.format == "arrow":
            raise UsageError("no lines in an Arrow file", file=str(self.path), remedy="Take its `batches`.")
        if not self.index.data:
            return
        import pyarrow

        rest = b""
        with self._opened(), pyarrow.input_stream(str(self.path), compression="zstd") as stream:
            while part := stream.read(_READ_BYTES):
                *lines, rest = (rest + part).split(b"\n")
                yield from lines

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        """The record batches of an Arrow file. UsageError for a file of lines."""
        if self.index.format != "arrow":
            raise UsageError("no Arrow in a file of lines", file=str(self.path), remedy="Take its `lines`.")
        if not self.index.data:
            return
        import pyarrow

        with self._opened(), pyarrow.memory_map(str(self.path)) as stream:
            reader = pyarrow.ipc.open_file(stream)
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)

    @contextmanager
    def _opened(self) -> Iterator[None]:
        try:
            with told("cannot read the data file", self.path):
                yield
        except FileNotFoundError as error:
            raise LossError(
                "a data file is gone that its index names",
                file=str(self.path),
                remedy="Restore it from a copy. What a registered shipper has not sent is never removed by us.",
            ) from error


@dataclass(frozen=True, slots=True)
class Series:
    """A node's files, in `folder`."""

    folder: Path

    @property
    def node(self) -> str:
        return self.folder.name

    def numbers(self) -> list[int]:
        """Of the files that have an index, ascending."""
        return indexed_numbers(self.names())

    def begun(self) -> bool:
        """Whether there is an index, at the cost of finding one."""
        with told("cannot list the data files", self.folder), os.scandir(self.folder) as found:
            return any(is_index(file.name) for file in found)

    def names(self) -> list[str]:
        """All names in the folder; none where there is no folder."""
        try:
            with told("cannot list the data files", self.folder):
                return [path.name for path in self.folder.iterdir()]
        except FileNotFoundError:
            return []

    def file(self, number: int) -> DataFile | None:
        """The file of that number; None where no index is there."""
        path = self.folder / index_name(number)
        try:
            with told("cannot read the index", path):
                return DataFile(self.folder, decode(path.read_bytes(), path))
        except FileNotFoundError:
            return None

    def newest(self) -> DataFile | None:
        """The last file that is whole; None where there is none yet."""
        numbers = self.numbers()
        return self.file(numbers[-1]) if numbers else None


def series_in(folder: Path) -> list[Series]:
    """The nodes' files below a folder, by the nodes' names. UsageError where the folder itself is a node's."""
    found = []
    with told("cannot list the folder of data files", folder):
        entries = sorted(folder.iterdir())
    if any(is_index(path.name) for path in entries):
        raise UsageError(
            "these are one node's data files", file=str(folder), remedy=f"Name the folder above: {folder.parent}."
        )
    for path in entries:
        if not path.name.startswith(".") and path.is_dir():
            series = Series(path)
            if series.begun():
                found.append(series)
    return found


def files_in(folder: Path, after: Mapping[str, int]) -> Iterator[DataFile]:
    """The files with rows below a folder, node by node, each node's by number. `after`: by node the number behind which
    to begin. LossError for one that is removed meanwhile."""
    for series in series_in(folder):
        for number in series.numbers():
            if number <= after.get(series.node, 0):
                continue
            file = series.file(number)
            if file is None:
                raise LossError("a data file was removed before it was read", file=str(series.folder), found=number)
            yield file
