"""Bytes and plain values as typed ones, by msgspec, from any thread: the one place that has its decoders made.

msgspec (0.22) hangs what it knows of a `Struct` at the type before that is whole. Where two threads want the same type
for the first time, one of them follows a null pointer, and the process ends with SIGSEGV. So one lock is held while a
decoder is made, and each is made once. Knows no type.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar, overload

import msgspec

T = TypeVar("T")

Hook = Callable[[type, Any], Any]

_LOCK: Final = threading.RLock()


@overload
def json_decoder(kind: type[T], dec_hook: Hook | None = None) -> msgspec.json.Decoder[T]: ...
@overload
def json_decoder(kind: Any, dec_hook: Hook | None = None) -> msgspec.json.Decoder[Any]: ...
def json_decoder(kind: Any, dec_hook: Hook | None = None) -> msgspec.json.Decoder[Any]:
    """Of JSON text. TypeError for what msgspec cannot decode into."""
    return _json(kind, dec_hook)


@overload
def msgpack_decoder(kind: type[T]) -> msgspec.msgpack.Decoder[T]: ...
@overload
def msgpack_decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]: ...
def msgpack_decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    """Of MessagePack. TypeError as `json_decoder`."""
    return _msgpack(kind)


@overload
def decode_json(data: bytes | str | msgspec.Raw, kind: type[T], dec_hook: Hook | None = None) -> T: ...
@overload
def decode_json(data: bytes | str | msgspec.Raw, kind: Any, dec_hook: Hook | None = None) -> Any: ...
def decode_json(data: bytes | str | msgspec.Raw, kind: Any, dec_hook: Hook | None = None) -> Any:
    """msgspec.DecodeError where the text is no JSON, or not of this type."""
    return _json(kind, dec_hook).decode(data)


@overload
def decode_msgpack(data: bytes | msgspec.Raw, kind: type[T]) -> T: ...
@overload
def decode_msgpack(data: bytes | msgspec.Raw, kind: Any) -> Any: ...
def decode_msgpack(data: bytes | msgspec.Raw, kind: Any) -> Any:
    """msgspec.DecodeError as `decode_json`."""
    return _msgpack(kind).decode(data)


@overload
def convert(value: object, kind: type[T]) -> T: ...
@overload
def convert(value: object, kind: Any) -> Any: ...
def convert(value: object, kind: Any) -> Any:
    """Of a value that was decoded without a type. msgspec.ValidationError where it is not of this one."""
    _json(kind, None)
    return msgspec.convert(value, kind)


@cache
def _json(kind: Any, dec_hook: Hook | None) -> msgspec.json.Decoder[Any]:
    with _LOCK:
        return msgspec.json.Decoder(kind, dec_hook=dec_hook)


@cache
def _msgpack(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    with _LOCK:
        return msgspec.msgpack.Decoder(kind)
