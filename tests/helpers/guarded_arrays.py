"""Arrays of numpy with a page behind each that may not be touched (`guarded_arrays.c`).

Compiled code works on addresses, and nothing else notices where it goes too far: the bytes behind an array are mostly
some other array's. `install` is called before the reader is imported, in a process of its own. Needs gcc.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import numpy as np

_SOURCE: Final = Path(__file__).with_suffix(".c")
_SET_HANDLER: Final = 304
"""The place of `PyDataMem_SetHandler` in numpy's C API (numpy/__multiarray_api.h)."""

_held: Final[list[object]] = []


def install() -> None:
    """All arrays that are made from now on are guarded. RuntimeError where they are not."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "guarded_arrays.so"
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, _SOURCE], check=True)
        loaded = ctypes.CDLL(str(library))
    api = ctypes.pythonapi
    api.PyCapsule_New.restype = ctypes.py_object
    api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(api.PyCapsule_GetPointer(_multiarray()._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[_SET_HANDLER])
    name = b"mem_handler"
    handler = api.PyCapsule_New(ctypes.addressof(ctypes.c_char.in_dll(loaded, "guarded")), name, None)
    _held.extend([loaded, name, handler, set_handler(handler)])
    if _multiarray().get_handler_name(np.empty(1)) != "guarded":
        raise RuntimeError("numpy's arrays are not guarded")


def _multiarray():  # type: ignore[no-untyped-def]
    try:
        from numpy._core import _multiarray_umath
    except ImportError:
        from numpy.core import _multiarray_umath  # numpy 1
    return _multiarray_umath
