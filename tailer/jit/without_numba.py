"""Stands in for numba where all code is kept: the sources of compiled functions can be read, and nothing is compiled.

What has a name in `tailer.jit.with_numba` has it here. Decorators leave functions as they are; nobody calls them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tailer.jit.code_file import NotKeptError

F = TypeVar("F", bound=Callable[..., Any])


class _Base:
    """What types of one's own are derived from."""

    def __init__(self, **named: Any) -> None:
        super().__init__()


class _Anything:
    """A type of numba's, a module of them, what they are called with: of no use but to be named."""

    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self

    def __getitem__(self, item: Any) -> Any:
        return self

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (_Base,)


types: Any = _Anything()
models: Any = _Anything()


def _as_it_is(function: F) -> F:
    return function


compiled = inlined = intrinsic = recursive = _as_it_is


def register_model(type_: Any) -> Callable[[F], F]:
    return _as_it_is


def features() -> frozenset[str]:
    """Code is as it was made."""
    return frozenset()


def make(function: Callable[..., Any]) -> bytes:
    """What is missing was lost from a store that had it."""
    raise NotKeptError(f"{function.__module__}.{function.__name__} is not kept")
