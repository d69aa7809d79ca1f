"""Files and functions stay small enough to be read in one sitting, and every module says what it is."""

from __future__ import annotations

import ast

from tests.house.source_tree import ROOT, python_files, tree

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 40


def test_no_file_is_long() -> None:
    lengths = {str(file.relative_to(ROOT)): len(file.read_text("utf-8").splitlines()) for file in python_files()}
    assert {name: lines for name, lines in lengths.items() if lines > FILE_LINES_MAX} == {}


def test_no_function_is_long() -> None:
    long = {}
    for file in python_files():
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                lines = node.end_lineno - node.lineno + 1
                if lines > FUNCTION_LINES_MAX:
                    long[f"{file.relative_to(ROOT)}:{node.name}"] = lines
    assert long == {}


def test_every_module_opens_with_a_docstring() -> None:
    silent = [
        str(file.relative_to(ROOT)) for file in python_files() if tree(file).body and not ast.get_docstring(tree(file))
    ]
    assert silent == []
