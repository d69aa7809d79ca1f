"""Compiling, with numba: the decorators as they are where functions are compiled, and the object code of a function.

Imported only where code is not kept yet: half a second goes by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from numba import njit, types
from numba.core.registry import cpu_target
from numba.extending import intrinsic, models, register_jitable, register_model

__all__ = ["compiled", "features", "inlined", "intrinsic", "make", "models", "recursive", "register_model", "types"]

_OPTIONS: Final = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Nothing but the function itself: no code that only Python and numba together can run."""

# Not `njit`: that would compile a function anew for every constant it is called with.
compiled = register_jitable(error_model="numpy")
"""They are compiled with the function that Python calls, and take part in its code."""

inlined = register_jitable(error_model="numpy", forceinline=True)
"""The same for what every entry runs through: a call of compiled code costs as much as reading a cell."""

recursive = njit(**_OPTIONS)
"""A function that calls itself."""


def features() -> frozenset[str]:
    """What the processor can that code is made for, as LLVM names it, each after a plus or minus sign."""
    _, _, told = cpu_target.target_context.codegen().magic_tuple()
    return frozenset(told.split(","))


def make(function: Callable[..., Any]) -> bytes:
    """The function's symbol, a newline, and its object code for this processor."""
    dispatcher = njit(**_OPTIONS)(function)
    dispatcher.compile(types.int64(*[types.int64] * function.__code__.co_argcount))
    (made,) = dispatcher.overloads.values()
    _, _, (code, _) = made.library.serialize_using_object_code()
    return made.fndesc.llvm_func_name.encode() + b"\n" + bytes(code)
