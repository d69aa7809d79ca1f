"""The index beside a data file: what is in it, and the place in the log behind it. Its form, its version, the names.

    data-000000000007.jsonl.zst    rows
    data-000000000007.idx.json     its index, which is written last and removed first: a data file without one counts
                                   for nothing

Opens no file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

import msgspec

from tailer.schema.model import TableDefinition
from tailer.sinks.in_force import Version
from tailer.sinks.outlet import OutletKey, Place
from tailer.versions import decode_versioned, decode_whole

VERSION: Final = 1

Form = Literal["rows", "debezium", "debezium-cassandra", "arrow"]

_NUMBER: Final = re.compile(r"data-(\d{12,18})\.(.+)", re.ASCII)
_INDEX_SUFFIX: Final = "idx.json"


class TableRows(msgspec.Struct, frozen=True):
    """A table of a data file, how many rows are of it, and its newest definition, null where nobody knew one.

    `versions`: all definitions that it had, with the place from which each counts; empty if it had one only.
    """

    table: str
    id: str
    rows: int
    definition: TableDefinition | None = None
    versions: tuple[Version, ...] = ()


class Key(msgspec.Struct, frozen=True):
    """Whose files these are; see OutletKey."""

    folder: str
    node: str
    consumer: str


class Index(msgspec.Struct, frozen=True):
    """What an index says. `data`: the name of the data file, empty where no row came before `offset`.

    `length` (`bytes` in the text) and `sha256` are the data file's. `typed`: the table whose typed form rows have.
    `images`: rows are images, of all nodes. `previous`: the SHA-256 of the data file before it, empty for the first.
    `made`: seconds since 1970.
    """

    number: int
    data: str
    rows: int
    length: int = msgspec.field(name="bytes")
    sha256: str
    previous: str
    format: Form
    typed: str | None
    tables: tuple[TableRows, ...]
    offset: msgspec.Raw
    generation: int
    key: Key
    made: float
    images: bool = False
    v: int = VERSION

    @property
    def place(self) -> Place:
        """The place behind this file."""
        return Place(bytes(self.offset).decode(), self.generation)

    @property
    def of(self) -> OutletKey:
        """Whose file it is."""
        return OutletKey(self.key.folder, self.key.node, self.key.consumer)

    def moved(self, place: Place) -> Index:
        """The same file with a later place behind it: no row lies between the two."""
        offset = msgspec.Raw(place.offset.encode())
        return msgspec.structs.replace(self, offset=offset, generation=place.generation)

    def encode(self) -> bytes:
        """Its text, one line."""
        return msgspec.json.encode(self) + b"\n"


def decode(data: bytes, file: Path) -> Index:
    """An index by its text. RefusedError for what is none, and for one of a later version."""
    return decode_versioned(
        data, _decode, VERSION, "the index of a data file", file=str(file), remedy="Restore it from a copy."
    )


def _decode(data: bytes, version: int) -> Index:
    found = decode_whole(data, Index, ("images",))
    # UnicodeDecodeError: the decoder does not look into it.
    bytes(found.offset).decode()
    return found


def index_name(number: int) -> str:
    return f"data-{number:012}.{_INDEX_SUFFIX}"


def data_name(number: int, suffix: str) -> str:
    return f"data-{number:012}.{suffix}"


def number_of(name: str) -> int | None:
    """The number in the name of an index or a data file; None for any other name."""
    found = _NUMBER.fullmatch(name)
    return None if found is None else int(found[1])


def indexed_numbers(names: Iterable[str]) -> list[int]:
    """The numbers of those files whose index is among the names, ascending."""
    return sorted(number for name in names if is_index(name) and (number := number_of(name)) is not None)


def is_index(name: str) -> bool:
    return number_of(name) is not None and name.endswith(f".{_INDEX_SUFFIX}")
