"""Small checkouts, for tests of what measures or draws one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def small_tree(root: Path, files: Mapping[str, str]) -> Path:
    """`files`: text by path. Every folder on the way to a Python file gets an `__init__.py`."""
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    for file in root.rglob("*.py"):
        (file.parent / "__init__.py").touch()
    return root
