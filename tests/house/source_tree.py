"""What the house tests and `scripts/` look at: a checkout's Python files, parsed; this one's where none is named."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGES = ("tailer", "writer_hooks", "pyspark_cdc_tail")


class Import(NamedTuple):
    """One import: the module that has it, the module it names, and where it stands."""

    importer: str
    target: str
    place: str


@cache
def python_files(root: Path = ROOT) -> tuple[Path, ...]:
    return tuple(sorted(file for package in PACKAGES for file in (root / package).rglob("*.py")))


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"), str(file))


def module_name(file: Path, root: Path = ROOT) -> str:
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(root: Path = ROOT) -> tuple[Import, ...]:
    """Every import of the packages, those inside functions and behind TYPE_CHECKING too."""
    found = []
    for file in python_files(root):
        importer = module_name(file, root)
        for node in ast.walk(tree(file)):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{importer}:{node.lineno}: relative import"
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [Import(importer, name, f"{importer}:{node.lineno}") for name in names]
    return tuple(found)


@cache
def kept_files() -> tuple[Path, ...]:
    """The files of the repository: tracked, or new and not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    return tuple(ROOT / name for name in names if name and (ROOT / name).is_file())
