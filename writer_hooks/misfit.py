"""What the log has and a field of a class cannot take. Knows no row and no class with fields."""

from __future__ import annotations

from typing import Any

from writer_hooks.hints import plain


class MisfitError(ValueError):
    """`field`: its name, behind those of the fields that hold it. `expected`: its type. `found`: what the log has.
    `missing`: that is nothing at all."""

    def __init__(self, hint: Any, found: str, field: str = "", *, missing: bool = False) -> None:
        super().__init__(found)
        hint = plain(hint)
        self.expected = hint.__name__ if isinstance(hint, type) else str(hint)
        self.found = found
        self.missing = missing
        self.field = field

    def within(self, field: str) -> MisfitError:
        """The same, of a field that holds this one."""
        self.field = f"{field}.{self.field}" if self.field else field
        return self
