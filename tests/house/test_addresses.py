"""No address is taken of an array that has no name: it is gone before compiled code, which has the address, runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.source_tree import python_files, tree

TESTS = Path(__file__).parents[1]
MADE = (ast.Call, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.BoolOp, ast.Compare)


def test_each_array_has_a_name() -> None:
    files = [file for file in (*python_files(), *TESTS.rglob("*.py")) if "address_of" in file.read_text("utf-8")]
    assert len(files) > 1
    assert [f"{file}:{line}" for file in files for line in _of_what_is_made(tree(file))] == []


@pytest.mark.parametrize("text", ["address_of(np.array([1]))", "address_of(a + 1)", "address_of(a.astype(int)[1:])"])
def test_it_would_be_found(text: str) -> None:
    assert list(_of_what_is_made(ast.parse(text))) == [1]


@pytest.mark.parametrize("text", ["address_of(a)", "address_of(self.a[1:])", "address_of(getattr(a, name))"])
def test_what_somebody_holds_is_not(text: str) -> None:
    assert list(_of_what_is_made(ast.parse(text))) == []


def _of_what_is_made(module: ast.Module) -> Iterator[int]:
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and _name(node.func) == "address_of" and node.args:
            given = node.args[0]
            while isinstance(given, ast.Subscript):
                given = given.value
            if isinstance(given, MADE) and not _is_getattr(given):
                yield node.lineno


def _name(called: ast.expr) -> str | None:
    return called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else None


def _is_getattr(given: ast.expr) -> bool:
    return isinstance(given, ast.Call) and _name(given.func) == "getattr"
