"""Writes the tables of options into the pages, between their markers, from the table that the program itself reads.

python scripts/option_tables.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tailer.options.declared import TAIL, Option, default_text
from tailer.options.declared_commands import COMMANDS, TABLE
from tailer.options.declared_images import IMAGES

DOCS = Path(__file__).parents[1] / "docs"
PAGES = tuple(DOCS / name for name in ("options.md", "python.md", "spark.md"))


def spark() -> Iterator[str]:
    yield from heading("option", "default", "")
    for option in sorted(TABLE, key=lambda option: option.spark != "path"):
        if option.spark:
            default = option.default_in(spark=True)
            told = f"`false`: {about(option)}" if option.negated else about(option)
            yield from row(code(option.spark), code(default_text(not default if option.negated else default)), told)


def python() -> Iterator[str]:
    yield from heading("keyword", "default", "")
    for option in (*TAIL, *IMAGES):
        if option.python:
            default = "" if option.default is None else repr(option.default)
            yield from row(code(option.name), code(default), about(option))


def terminal() -> Iterator[str]:
    yield from heading("option", "what it says", "default", "commands", "in Spark", "in Python")
    for option in TABLE:
        if option.word:
            word = code(f"--{option.word}") + (f" ({code(option.variable)})" if option.alone else "")
            of = "all" if option.commands == COMMANDS else ", ".join(option.commands)
            other = (code(option.spark), code(option.name if option.python else ""))
            yield from row(word, option.help.replace("<", "&lt;"), code(default_text(option.default)), of, *other)


def heading(*cells: str) -> Iterator[str]:
    """The first row, with the line that Markdown wants below it."""
    yield from row(*cells)
    yield "|---" * len(cells) + "|"


def row(*cells: str) -> Iterator[str]:
    yield f"| {' | '.join(cells)} |"


def about(option: Option) -> str:
    """In the voice of the pages: a phrase, not a sentence."""
    text = option.more or option.help.replace("<", "&lt;")
    return (text[:1].lower() + text[1:]).removesuffix(".")


def code(text: str) -> str:
    return f"`{text}`" if text else ""


TABLES = {"spark": spark, "python": python, "terminal": terminal}


def current(page: str) -> str:
    """A page's text with its tables as they should be."""

    def made(found: re.Match[str]) -> str:
        lines: Iterable[str] = TABLES[found[1]]()
        return "\n".join((f"<!-- options: {found[1]} -->", "", *lines, "", "<!-- end of options -->"))

    return re.sub(r"<!-- options: (\w+) -->.*?<!-- end of options -->", made, page, flags=re.DOTALL)


if __name__ == "__main__":
    for file in PAGES:
        file.write_text(current(file.read_text("utf-8")), "utf-8")
