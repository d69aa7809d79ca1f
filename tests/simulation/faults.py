"""Faults put into the product on purpose, one at a time: how soon they are found is what a simulation is worth.

A fault is a change of one module's source as it is imported; no file is changed. Those chosen by hand are text for text
(`injected.py`); others are drawn from a seed, at a random place of the packages that are simulated.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import CodeType, ModuleType
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]

PACKAGES: Final = (
    "tail", "planning", "definitions", "state", "images", "image_state", "snapshot", "retention", "archive", "serve",
    "remote",
)  # fmt: skip

_STORAGE: Final = {
    "fsync", "fdatasync", "sync_folder", "put_in_place", "replace", "rename", "unlink", "save", "write", "put",
    "delete", "append", "commit", "record", "flush",
}  # fmt: skip
"""Calls by these names reach the disk, in the end, or keep something."""

_SWAPPED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """In `file`, below the repository, `old` becomes `new`; it stands there once."""

    name: str
    file: str
    old: str
    new: str

    def source(self) -> str:
        text = (ROOT / self.file).read_text("utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: its text stands {text.count(self.old)} times in {self.file}")
        return text.replace(self.old, self.new)


def drawn(seed: int) -> Fault:
    """A fault at random: a call to the disk that is left out, another comparison, a condition less, an early return."""
    random = Random(f"fault {seed}")
    files = [file for name in PACKAGES for file in sorted((ROOT / "tailer" / name).rglob("*.py"))]
    while True:
        # The longer a file, the more may be wrong in it.
        (file,) = random.choices(
            chosen := [each for each in files if "compiled" not in each.parts],
            [each.stat().st_size for each in chosen],
        )
        kind = random.choice(("storage", "comparison", "condition", "return"))
        text = file.read_text("utf-8")
        if found := [*_candidates(ast.parse(text), kind)]:
            node, new = random.choice(found)
            lines = text.splitlines(keepends=True)
            begin, end = _at(lines, node.lineno, node.col_offset), _at(lines, node.end_lineno, node.end_col_offset)
            place = str(file.relative_to(ROOT))
            return Fault(f"{kind} at {place}:{node.lineno}", place, text, text[:begin] + new + text[end:])


def _at(lines: Sequence[str], line: int | None, column: int | None) -> int:
    assert line is not None, "it was parsed"
    before = lines[line - 1].encode()[:column].decode()
    return sum(map(len, lines[: line - 1])) + len(before)


def _candidates(tree: ast.Module, kind: str) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """What may be changed, and into what."""
    for node in ast.walk(tree):
        if kind == "storage" and isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func
            if getattr(called, "attr", getattr(called, "id", "")) in _STORAGE:
                yield node, "pass"
        elif kind == "comparison" and isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPPED:
            swapped = ast.Compare(node.left, [_SWAPPED[type(node.ops[0])](), *node.ops[1:]], node.comparators)
            yield node, f"({ast.unparse(swapped)})"
        elif kind == "condition" and isinstance(node, ast.BoolOp):
            left = ast.BoolOp(node.op, node.values[1:]) if len(node.values) > 2 else node.values[1]
            yield node, f"({ast.unparse(left)})"
        elif kind == "condition" and isinstance(node, ast.If) and not _is_for_types(node):
            yield node.test, "True" if node.orelse else "False"
        elif kind == "return" and isinstance(node, ast.FunctionDef) and _gives_nothing(node):
            first = next(each for each in node.body if not _is_docstring(each))
            yield first, f"return; {ast.unparse(first)}" if isinstance(first, ast.Expr) else "return"


def _is_for_types(node: ast.If) -> bool:
    return ast.unparse(node.test) == "TYPE_CHECKING"


def _gives_nothing(node: ast.FunctionDef) -> bool:
    plain = isinstance(node.returns, ast.Constant) and node.returns.value is None
    body = [each for each in node.body if not _is_docstring(each)]
    return plain and node.name != "__init__" and bool(body) and not isinstance(body[0], ast.Pass | ast.Raise)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType | None:
        return compile(self._source, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        parts = Path(fault.file).with_suffix("").parts
        self._module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._module:
            return None
        file = str(ROOT / self._fault.file)
        return importlib.util.spec_from_file_location(
            fullname, file, loader=_Loader(fullname, file, self._fault.source()), submodule_search_locations=None
        )


def inject(fault: Fault) -> None:
    """Into what this process imports from now on."""
    sys.meta_path.insert(0, _Finder(fault))
