"""Object code made callable: loads it with LLVM's linker. Knows no numba and no file.

A function of numba's takes the address of its result and one for an error before its own arguments, and gives zero.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import llvmlite.binding as llvm

_NEVER_CALLED: Final = "NRT_MemInfo_call_dtor"
"""Frees arrays whose last reference goes. Constants have none, so that it is named in the code and not called."""

_engines: Final[list[Any]] = []
"""They own the code."""


class Linked(NamedTuple):
    """A loaded function: its address, and how Python calls it."""

    address: int
    call: Callable[..., int]


def link(code: bytes, like: Callable[..., Any]) -> Linked:
    """The function in `code` (symbol, newline, object code); it has the arguments of `like`, 64-bit integers all.

    RuntimeError for what is no such code.
    """
    symbol, _, object_code = code.partition(b"\n")
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(object_code))
    engine.finalize_object()
    address = engine.get_function_address(symbol.decode())
    if not address:
        raise RuntimeError(f"no function {symbol.decode()} in the code")
    _engines.append(engine)
    return Linked(address, _callable(address, like))


def _callable(address: int, like: Callable[..., Any]) -> Callable[..., int]:
    numbers = [ctypes.c_int64] * like.__code__.co_argcount
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *numbers)(address)
    result, reference = ctypes.c_int64, ctypes.byref

    def call(*arguments: int) -> int:
        made, error = result(), result()
        if function(reference(made), reference(error), *arguments):
            raise SystemError(f"{like.__name__} ended with an error")
        return made.value

    return call


@cache
def _target_machine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.add_symbol(_NEVER_CALLED, ctypes.cast(ctypes.pythonapi.Py_FatalError, ctypes.c_void_p).value or 0)
    return llvm.Target.from_default_triple().create_target_machine(jit=True)
