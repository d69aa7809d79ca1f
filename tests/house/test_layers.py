"""The layer law: lower folders never import higher ones, and foreign libraries stay where they belong."""

from __future__ import annotations

import ast

from tests.house.source_tree import imports, module_name, python_files, tree

LAYERS = (
    ("position", "errors", "limits", "offset"),
    ("format",),
    ("types", "kernel"),
    ("schema",),
    ("plan", "selection"),
    ("source",),
    ("change",),
    ("sink", "rebuild"),
    ("read", "follow", "consumers", "retention"),
    ("spark",),
    ("demo",),
    ("cli",),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
LOOP = RANK["follow"]
"""Modules at the top of `tailer` that the table does not name belong to the loop: reader, follower, consumers."""

HOMES = {
    "delta": ("tailer.spark.delta",),
    "pyspark": ("tailer.spark", "pyspark_cdc_tail"),
    "cassandra": ("tailer.schema.server",),
    "inotify_simple": ("tailer.source",),
    "llvmlite": ("tailer.kernel", "tailer.types.fast"),
    "numba": ("tailer.kernel", "tailer.types.fast", "tailer.change.fast", "tailer.change.typed"),
    "typer": ("tailer.cli",),
    "rich": ("tailer.cli", "tailer.demo", "tailer.sink"),
}
PURE = ("tailer.format", "tailer.types", "tailer.plan")
WRITER_USERS = ("tailer.cli.write", "tailer.demo")
"""Who in `tailer` may import `writer_hooks`, and only when it is used."""
WRITER_TOOLS = ("position", "errors", "limits", "format", "types", "schema", "source", "change", "read")
"""What of `tailer` the writer may use."""
WRITER_READERS = ("writer_hooks.subscription", "writer_hooks.subscribe")
"""Readers in the writer's own process, which run the reader's whole line."""
WRITER_DISK = {"writer_hooks.files"}
DISK = {"open", "os.open", "os.write", "os.fsync", "os.fdatasync", "os.rename", "os.replace", "os.unlink", "os.link"}
OUTSIDE_WORLD = {"os", "io", "pathlib", "time", "random", "socket", "logging", "subprocess", "tempfile", "threading"}


def rank(module: str) -> int:
    parts = module.split(".")
    return RANK.get(parts[1], LOOP)


def within(module: str, homes: tuple[str, ...]) -> bool:
    return any(module == home or module.startswith(f"{home}.") for home in homes)


def test_lower_layers_never_import_higher_ones() -> None:
    upward = [
        f"{place} imports {target}"
        for importer, target, place in imports()
        if importer.startswith("tailer.") and target.startswith("tailer.") and rank(target) > rank(importer)
    ]
    assert upward == []


def test_foreign_libraries_stay_in_their_folder() -> None:
    astray = [
        f"{place} imports {target}"
        for importer, target, place in imports()
        if (homes := HOMES.get(target.split(".")[0])) and not within(importer, homes)
    ]
    assert astray == []


def test_format_types_and_planner_are_pure() -> None:
    impure = [
        f"{place} imports {target}"
        for importer, target, place in imports()
        if within(importer, PURE) and target.split(".")[0] in OUTSIDE_WORLD
    ]
    assert impure == []


def test_the_reader_does_not_know_the_writer() -> None:
    users = [
        place
        for importer, target, place in imports()
        if within(target, ("writer_hooks",)) and within(importer, ("tailer",))
    ]
    assert [place for place in users if not within(place.split(":")[0], WRITER_USERS)] == []


def test_the_writer_uses_little_of_the_reader() -> None:
    allowed = tuple(f"tailer.{name}" for name in WRITER_TOOLS)
    astray = [
        f"{place} imports {target}"
        for importer, target, place in imports()
        if within(importer, ("writer_hooks",))
        and importer not in WRITER_READERS
        and within(target, ("tailer",))
        and not within(target, allowed)
    ]
    assert astray == []


def test_the_writer_touches_the_disk_in_one_place() -> None:
    """Else a crash in a test is not a crash at every call."""
    calls = [
        f"{module_name(file)}:{node.lineno} calls {ast.unparse(node.func)}"
        for file in python_files()
        if within(module_name(file), ("writer_hooks",)) and module_name(file) not in WRITER_DISK
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in DISK
    ]
    assert calls == []


def test_no_source_file_imports_tests() -> None:
    assert [place for _, target, place in imports() if target.split(".")[0] in {"tests", "pytest", "hypothesis"}] == []
