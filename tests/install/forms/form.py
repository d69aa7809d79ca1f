"""One persistent form as the tests see it, and the digests by which a change of its bytes is noticed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect


@dataclass(frozen=True)
class Form:
    """`row`: what its row in the table of docs/upgrades.md begins with. `version`: today's.

    `write`: a value that never changes, as today's code writes it. `read`: what today's code makes of such bytes.
    `types`: the structs that are encoded. `may_lack`: fields that an earlier version did not write. `torn`: a crash may
    cut the end, and what is before it counts. `accepts`: other whole texts that are of the form. `code`: of the error.
    """

    name: str
    row: str
    version: int
    write: Callable[[], bytes]
    read: Callable[[bytes], Any]
    types: tuple[Any, ...] = ()
    may_lack: frozenset[str] = frozenset()
    torn: bool = False
    accepts: frozenset[bytes] = frozenset()
    code: int = 6

    def digests(self) -> dict[str, str]:
        """Of the bytes, and of names, order and types of the fields."""
        shape = "\n".join(shape_of(each) for each in self.types)
        return {"bytes": sha256(self.write()).hexdigest(), "shape": sha256(shape.encode()).hexdigest()}


def in_folder(name: str, read: Callable[[Path], Any]) -> Callable[[bytes], Any]:
    """What `read` makes of a folder that has nothing but these bytes in one file."""

    def reads(data: bytes) -> Any:
        with tempfile.TemporaryDirectory() as made:
            path = Path(made) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            return read(Path(made))

    return reads


def from_folder(name: str, write: Callable[[Path], Any]) -> Callable[[], bytes]:
    """The bytes that `write` leaves in a file of a folder. `name`: a pattern."""

    def written() -> bytes:
        with tempfile.TemporaryDirectory() as made:
            (Path(made) / name).parent.mkdir(exist_ok=True)
            write(Path(made))
            (found,) = Path(made).glob(name)
            return found.read_bytes()

    return written


def shape_of(kind: Any) -> str:
    """Names, order and types of the fields of a struct, in words. The names of classes and modules do not count."""
    return _shape(inspect.type_info(kind), ())


def _shape(info: Any, within: tuple[Any, ...]) -> str:
    cls = getattr(info, "cls", None)
    if cls is not None and cls in within:
        return "itself"
    inner = (*within, cls) if cls is not None else within
    if isinstance(info, inspect.StructType):
        fields = ", ".join(f"{each.encode_name}: {_shape(each.type, inner)}" for each in info.fields)
        return f"{'array' if info.array_like else 'object'} {info.tag_field}={info.tag} ({fields})"
    if isinstance(info, inspect.NamedTupleType):
        return f"array ({', '.join(_shape(each.type, inner) for each in info.fields)})"
    if isinstance(info, inspect.UnionType):
        return " or ".join(_shape(each, inner) for each in info.types)
    if isinstance(info, inspect.DictType):
        return f"map of {_shape(info.key_type, inner)} to {_shape(info.value_type, inner)}"
    if isinstance(info, inspect.TupleType):
        return f"tuple ({', '.join(_shape(each, inner) for each in info.item_types)})"
    if isinstance(info, inspect.CollectionType):
        return f"list of {_shape(info.item_type, inner)}"
    if isinstance(info, inspect.LiteralType):
        return f"one of {sorted(map(str, info.values))}"
    if isinstance(info, inspect.EnumType):
        return f"one of {sorted(str(each.value) for each in info.cls)}"
    return type(info).__name__


def fields_of(data: bytes) -> dict[str, Any] | None:
    """The fields of a text that is one JSON object; None for other bytes."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if isinstance(found, dict) else None
