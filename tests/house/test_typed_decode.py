"""msgspec's decoders are made in one place: elsewhere two threads could make those of one type at once, and crash."""

from __future__ import annotations

import ast

from tests.house.source_tree import module_name, python_files, tree

HOME = "tailer.typed_decode"
MAKE_DECODERS = {"Decoder", "convert"}


def test_only_one_module_has_msgspec_make_decoders() -> None:
    found = [
        f"{module_name(file)}:{node.lineno}"
        for file in python_files()
        if module_name(file) != HOME
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Call) and _makes_decoder(node)
    ]
    assert found == []


def test_it_would_be_found() -> None:
    home = next(file for file in python_files() if module_name(file) == HOME)
    assert any(isinstance(node, ast.Call) and _makes_decoder(node) for node in ast.walk(tree(home)))


def _makes_decoder(call: ast.Call) -> bool:
    words = ast.unparse(call.func).split(".")
    typed = any(keyword.arg == "type" for keyword in call.keywords)
    return words[0] == "msgspec" and (words[-1] in MAKE_DECODERS or (words[-1] == "decode" and typed))
