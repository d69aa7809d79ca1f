"""Prints the public surface: one line for each item, in a fixed order, so that `diff` shows what a change does.

    python scripts/surface.py [TREE] > surface.txt

TREE: a checkout of any version; this one where it is left out. Commands, options and exit codes; names that Python
programs import; columns of rows, images and typed rows; JSON of `status`; metrics; persistent forms; and from the pages
the names of environment variables, HTTP paths and log lines.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parents[1]
MODULES = ("tailer", "writer_hooks")
"""Their `__all__` is public. Of other modules the names are public that the pages import."""

IMPORTED = re.compile(r"^\s*from ((?:tailer|writer_hooks)[\w.]*) import ([\w, ]+)", re.MULTILINE)


def commands(tree: Path) -> Iterator[str]:
    import typer.main

    app = importlib.import_module("tailer.cli.app")
    yield from _command("cdc-tail", typer.main.get_command(app.app))


def _command(path: str, command: Any) -> Iterator[str]:
    yield f"command {path}"
    for parameter in command.params:
        words = "/".join((*parameter.opts, *parameter.secondary_opts))
        marks = [word for word in ("required", "multiple", "hidden", "is_flag") if getattr(parameter, word, False)]
        default = getattr(parameter, "default", None)
        if callable(default) or "help" in words:
            default = None
        takes = "" if "is_flag" in marks else str(parameter.metavar or "")
        shown = "" if default in (None, False, ()) else f" = {default}"
        yield " ".join(f"command {path} {words} {takes}{shown} {' '.join(marks)}".split())
    if hasattr(command, "list_commands"):
        # Neither method uses its context.
        for name in command.list_commands(None):
            yield from _command(f"{path} {name}", command.get_command(None, name))


def exit_codes(tree: Path) -> Iterator[str]:
    errors = importlib.import_module("tailer.errors")
    for name, value in vars(errors).items():
        if inspect.isclass(value) and issubclass(value, errors.CdcError):
            yield f"exit {value.code} {name}"


def python(tree: Path) -> Iterator[str]:
    names = {(module, name) for module in MODULES for name in importlib.import_module(module).__all__}
    for page in _pages(tree):
        for module, imported in IMPORTED.findall(page.read_text()):
            names |= {(module, name.strip().partition(" as ")[0]) for name in imported.split(",")}
    for module, name in sorted(names):
        value = getattr(importlib.import_module(module), name)
        if isinstance(value, ModuleType):
            continue
        yield from _value(f"{module}.{name}", value)


def _value(name: str, value: object) -> Iterator[str]:
    if not inspect.isclass(value):
        yield f"python {name}{_signature(value)}" if callable(value) else f"python {name} = {value!r}"
        return
    fields = getattr(value, "__struct_fields__", getattr(value, "_fields", None))
    # What has fields is made of them; how its signature shows types depends on the Python that runs.
    yield f"python {name}{_signature(value) if fields is None else ''}"
    for field in fields or ():
        yield f"python {name}.{field}"
    for part in sorted(dir(value)):
        member = inspect.getattr_static(value, part)
        if part.startswith("_") or member is getattr(object, part, None) or _is_inherited(value, part):
            continue
        if isinstance(member, property):
            yield f"python {name}.{part}"
        elif callable(member) or isinstance(member, staticmethod | classmethod):
            yield f"python {name}.{part}{_signature(getattr(value, part))}"


def _is_inherited(value: type, part: str) -> bool:
    """Whether the member comes from a class of another package, such as Exception or Enum."""
    owner = next((each for each in value.__mro__ if part in vars(each)), None)
    return owner is not None and owner.__module__.partition(".")[0] not in MODULES


def _signature(value: Any) -> str:
    try:
        return re.sub(r" at 0x[0-9a-f]+", "", str(inspect.signature(value)))
    except (TypeError, ValueError):
        return "(...)"


def columns(tree: Path) -> Iterator[str]:
    batch, image = importlib.import_module("tailer.rows.batch"), importlib.import_module("tailer.images.image")
    form = importlib.import_module("tailer.rows.typed.form")
    for kind, schema in (("row", batch.arrow_schema()), ("image", image.arrow_schema())):
        for field in schema:
            yield f"column {kind} {field.name} {field.type}"
    for name in form.META:
        yield f"column typed {name}"


def status(tree: Path) -> Iterator[str]:
    import msgspec

    module = importlib.import_module("tailer.retention.status")
    for name, value in sorted(vars(module).items()):
        if inspect.isclass(value) and issubclass(value, msgspec.Struct) and value.__module__ == module.__name__:
            for field in msgspec.structs.fields(value):
                yield f"status {name}.{field.encode_name}"


def metrics(tree: Path) -> Iterator[str]:
    module = importlib.import_module("tailer.metrics.declared")
    found = {value for value in vars(module).values() if isinstance(value, module.Metric)}
    for group in (value for value in vars(module).values() if isinstance(value, tuple | list)):
        found |= {each for each in group if isinstance(each, module.Metric)}
    for metric in sorted(found):
        yield f"metric {metric.name} {metric.kind} {' '.join(metric.labels)}".rstrip()


def forms(tree: Path) -> Iterator[str]:
    """From the table in docs/upgrades.md, which a test compares with the code."""
    for line in (tree / "docs" / "upgrades.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if line.startswith("| ") and cells[1] != "what":
            yield f"form {re.sub(r'[(].*?[)]', '', cells[1])}: {cells[2]}: {cells[3]}"


def promised(tree: Path) -> Iterator[str]:
    for page in _pages(tree):
        text = page.read_text()
        for name in re.findall(r"\bCDC_TAIL_[A-Z_]*[A-Z]\b", text):
            yield f"environment {name}"
        for path in re.findall(r"`(?:GET |PUT |POST |DELETE )?(/[a-z][\w/{}.-]*)[`?]", text):
            yield f"path {path}"
        for line in re.findall(r"^ {4}(cdc-tail: .+)$", text, re.MULTILINE):
            yield f"log {line}"


def _pages(tree: Path) -> list[Path]:
    return [tree / "README.md", *sorted((tree / "docs").rglob("*.md"))]


SECTIONS: tuple[Callable[[Path], Iterator[str]], ...] = (
    commands, exit_codes, python, columns, status, metrics, forms, promised,
)  # fmt: skip


def surface(tree: Path) -> list[str]:
    """All lines, each once."""
    return [line for section in SECTIONS for line in sorted(set(section(tree)))]


def main(words: list[str]) -> None:
    tree = Path(words[0]).resolve() if words else HERE
    sys.path.insert(0, str(tree))
    for line in surface(tree):
        print(line)


if __name__ == "__main__":
    main(sys.argv[1:])
