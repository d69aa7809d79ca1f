"""Names as Spark's SQL takes them. Texts only."""

from __future__ import annotations


def quoted_name(name: str) -> str:
    """A column's or a table's name, one part of it."""
    return "`" + name.replace("`", "``") + "`"
