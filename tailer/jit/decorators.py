"""The decorators of compiled functions: of those that Python calls, and of those that these call in turn.

Where all of the code is kept (`tailer.jit.store`), it is loaded from there as it is, and the sources of compiled
functions are only read for their names and constants: numba, half a second and sixty megabytes, is not even imported.
Where it is not, this process compiles, and keeps what it made.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from tailer.jit import store
from tailer.jit.code_file import NotKeptError, write_code
from tailer.jit.link import link

Function = Callable[..., Any]

COMPILES: Final = store.kept() is None
"""Whether functions are compiled in this process."""

_source: Final[Any] = import_module("tailer.jit.with_numba" if COMPILES else "tailer.jit.without_numba")
types, models, register_model = _source.types, _source.models, _source.register_model
compiled, inlined, intrinsic, recursive = _source.compiled, _source.inlined, _source.intrinsic, _source.recursive
features = _source.features


def only_load() -> None:
    """NotKeptError where functions would be compiled in this process."""
    if store.kept() is None:
        raise NotKeptError("compiled code was removed after it was found")


def entry_point(function: Function) -> Function:
    """A function of 64-bit integers that Python calls and that gives one back; it lets go of the GIL."""
    return link(_code(function), function).call


def callback(function: Function) -> int:
    """The address of such a function, for `call` in other compiled code."""
    return link(_code(function), function).address


def _code(function: Function) -> bytes:
    """A function's symbol, a newline, and object code. NotKeptError if it can neither be read nor made."""
    file = f"{function.__module__}.{function.__name__}"
    folder = store.kept() or store.room()
    if folder is not None:
        try:
            return store.read(folder, file)
        except NotKeptError:
            if not COMPILES:
                raise
    code: bytes = _source.make(function)
    if folder is not None:
        write_code(folder / file, code)
    return code
