"""How often a checkout states one thing: a CQL type in its source, an option in source and docs. For `structure.py`.

Finds options by their spelling alone, so it need not know where they are declared.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tests.house.source_tree import python_files, tree

NATIVE_TYPES: Final = (
    *("ascii", "bigint", "blob", "boolean", "counter", "date", "decimal", "double", "duration", "float", "inet"),
    *("int", "smallint", "text", "time", "timestamp", "timeuuid", "tinyint", "uuid", "varchar", "varint"),
)
TYPED_PACKAGES: Final = ("tailer", "writer_hooks")

_TERMINAL: Final = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)(?![\w-])")
_SPARK_TABLE: Final = re.compile(r"^\| option \|.*\n((?:\|.*\n)+)", re.MULTILINE)
_SPARK: Final = re.compile(r"`([a-z]+(?:[A-Z][a-z]+)*)`")

Words = tuple[str, ...]
"""An option's name without its spelling: `("on", "error")`."""


def files_with_type(root: Path) -> dict[str, int]:
    """For each native CQL type in how many files it is a string of its own."""
    sources = [file for file in python_files(root) if file.relative_to(root).parts[0] in TYPED_PACKAGES]
    found = [set(_strings(file)) for file in sources]
    return {name: sum(name in strings for strings in found) for name in NATIVE_TYPES}


def options(root: Path) -> set[Words]:
    """Options of the terminal that the docs or a string in the source spell, and those of the docs' table for Spark.

    Of several words: `state` and `server` cannot be told from the words.
    """
    docs = "\n".join(page.read_text("utf-8") for page in _pages(root))
    docs = "\n".join(line for line in docs.splitlines() if "apt-get" not in line) + "\n"
    terminal = set(_TERMINAL.findall(docs))
    terminal |= {
        match[1] for file in python_files(root) for text in _strings(file) if (match := _TERMINAL.fullmatch(text))
    }
    cells = (line.split("|")[1] for table in _SPARK_TABLE.findall(docs) for line in table.splitlines())
    spark = {name for cell in cells for name in _SPARK.findall(cell)}
    found = {tuple(name.split("-")) for name in terminal} | {_camel_words(name) for name in spark}
    return {words for words in found if len(words) > 1}


def option_places(root: Path, asked: Iterable[Words]) -> dict[str, dict[str, int]]:
    """For each of these options how often it stands in source and docs, in any spelling, and in how many files."""
    texts = [page.read_text("utf-8") for page in (*python_files(root), *_pages(root))]
    counted = {}
    for words in sorted(asked):
        found = [len(_spellings(words).findall(text)) for text in texts]
        counted["_".join(words)] = {"places": sum(found), "files": sum(count > 0 for count in found)}
    return counted


def _spellings(words: Words) -> re.Pattern[str]:
    """snake_case, camelCase, CapWords and --kebab-case."""
    caps = "".join(word.capitalize() for word in words)
    names = "|".join(("_".join(words), words[0] + caps[len(words[0]) :], caps))
    return re.compile(rf"(?<!\w)(?:{names})(?!\w)|(?<![\w-])--{'-'.join(words)}(?![\w-])")


def _camel_words(name: str) -> Words:
    return tuple(word.lower() for word in re.findall(r"[A-Z]?[a-z]+", name))


def _pages(root: Path) -> Iterable[Path]:
    return (*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md")))


def _strings(file: Path) -> Iterator[str]:
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
