"""The version of persistent state, and bytes of it that cannot be decoded. Both are refused (exit 6).

A reader asks for the version before it decodes anything else. The module beside a form owns its version.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final, Generic, TypeVar

import msgspec

from tailer.errors import RefusedError
from tailer.typed_decode import decode_json, msgpack_decoder

T = TypeVar("T")
StructT = TypeVar("StructT", bound=msgspec.Struct)
Text = TypeVar("Text", bytes, str)

Version = Annotated[int, msgspec.Meta(ge=1)]

OURS: Final = "what cdc-tail writes"
"""What a reader of state expects."""

UNDECODABLE: Final = (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are not of a form: damaged, of another shape, not UTF-8, nested without end."""


class Versioned(msgspec.Struct, frozen=True):
    """The version alone, whatever else is in the text. A text without a version is of version 1."""

    v: Version = 1


class VersionNamed(msgspec.Struct, frozen=True):
    """The same of a form that had a version from its beginning on: a text without one is damaged."""

    v: Version


def check_version(found: int, newest: int, what: str, *, file: str | None = None, or_else: str = "") -> None:
    """RefusedError for a version beyond the newest that is known. `or_else`: what may be done besides upgrading."""
    if found > newest:
        raise RefusedError(
            f"the version of {what}",
            file=file,
            expected=newest if newest == 1 else f"{newest} or lower",
            found=found,
            remedy=f"A newer cdc-tail wrote it: use that version{or_else}.",
        )


class UndecodableError(RefusedError):
    """Persistent state that cannot be decoded."""

    def found_in(self, file: str, remedy: str) -> None:
        """Say in which file, and what to do, where the decoder did not know it."""
        self.file = self.file or file
        self.remedy = self.remedy or remedy


class StateDecoder(Generic[T]):
    """A decoder of MessagePack that is part of a larger state. `what`: of what, in words."""

    def __init__(self, kind: Any, what: str) -> None:
        self._decode: Callable[[bytes], T] = msgpack_decoder(kind).decode
        self._what = what

    def decode(self, data: bytes) -> T:
        """UndecodableError for damage, and for another shape."""
        with decoding(self._what):
            return self._decode(data)


@contextmanager
def decoding(
    what: str, *, file: str | None = None, remedy: str = "", more: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """UndecodableError where the work inside cannot decode persistent state. `more`: errors that mean the same."""
    meant: tuple[type[Exception], ...] = (*UNDECODABLE, *more)
    try:
        yield
    except meant as error:
        raise undecodable(what, str(error), file=file, remedy=remedy) from error


def decode_whole(data: bytes | str | msgspec.Raw, kind: type[StructT], may_lack: Collection[str] = ()) -> StructT:
    """A struct of a JSON object that has each of its fields. msgspec.ValidationError where one is missing.

    A default in place of a lost field would be a position or a list that nobody wrote. `may_lack`: earlier versions did
    not write these.
    """
    there = decode_json(data, dict[str, msgspec.Raw])
    for name in kind.__struct_encode_fields__:
        if name not in there and name not in may_lack:
            raise msgspec.ValidationError(f"Object missing required field `{name}`")
    return decode_json(data, kind)


def undecodable(what: str, found: str, *, file: str | None = None, remedy: str = "") -> UndecodableError:
    """The error of persistent state that cannot be decoded. `found`: what is wrong with it."""
    return UndecodableError(f"{what} cannot be read", file=file, expected=OURS, found=found, remedy=remedy)


def decode_versioned(
    data: Text,
    decode: Callable[[Text, int], T],
    newest: int,
    what: str,
    *,
    file: str | None = None,
    remedy: str,
    or_else: str = "",
    named: bool = True,
) -> T:
    """What `decode` makes of a JSON object and its version. RefusedError for a later version, and for damage.

    `named`: every version of the form had its number in the text. `or_else`: see `check_version`.
    """
    with decoding(what, file=file, remedy=remedy):
        found = decode_json(data, VersionNamed).v if named else decode_json(data, Versioned).v
        check_version(found, newest, what, file=file, or_else=or_else)
        return decode(data, found)
