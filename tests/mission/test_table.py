"""The table of the sources' ideas names each test of this folder, and no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
ABOUT_THE_TABLES = {"test_table.py", "test_product.py::test_the_public_surface_is_the_kept_one"}


def test_it_names_each_test() -> None:
    named = re.findall(r"^\|.*`(test_\w+\.py::test_\w+)`", (HERE / "README.md").read_text(), re.MULTILINE)
    there = {
        f"{file.name}::{each.name}"
        for file in HERE.glob("test_*.py")
        for each in ast.parse(file.read_text()).body
        if isinstance(each, ast.FunctionDef) and each.name.startswith("test_") and file.name not in ABOUT_THE_TABLES
    }
    assert len(named) == len(set(named))
    assert set(named) == there - ABOUT_THE_TABLES
