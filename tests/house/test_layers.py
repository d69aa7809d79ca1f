"""The layer law: lower folders never import higher ones, and foreign libraries stay where they belong."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.house.levels import LEVEL_OF, LEVELS, room
from tests.house.source_tree import PACKAGES, ROOT, imports, module_name, python_files, tree

COMPILED = (
    "tailer.jit",
    "tailer.framing.compiled",
    "tailer.scan.mutation.compiled",
    "tailer.scan.record.compiled",
    "tailer.types.compiled",
    "tailer.rows.generic.compiled",
    "tailer.rows.typed.compiled",
)
HOMES = {
    "aiohttp": ("tailer.node_page", "tailer.serve"),
    "confluent_kafka": ("tailer.sinks.kafka",),
    "delta": ("tailer.spark.delta", "tailer.spark.sinks.delta"),
    "py4j": ("tailer.spark",),
    "pyspark": ("tailer.spark", "pyspark_cdc_tail"),
    "cassandra": ("tailer.schema.server", "tailer.schema.server_rows"),
    "inotify_simple": ("tailer.segments",),
    "llvmlite": COMPILED,
    "lmdb": ("tailer.image_state",),
    "numba": COMPILED,
    "opentelemetry": ("tailer.metrics.otel",),
    "prometheus_client": ("tailer.metrics.prometheus",),
    "typer": ("tailer.cli", "tailer.options.to_terminal"),
    "rich": ("tailer.cli", "tailer.demo", "tailer.sinks"),
    "yaml": ("tailer.options.cassandra_yaml",),
}
LOOSE_MAX = 10
PURE = (
    "tailer.framing",
    "tailer.scan",
    "tailer.types",
    "tailer.planning.plan",
    "tailer.planning.loss",
    "tailer.retention.needed",
    "tailer.retention.status",
)
WRITER_USERS = ("tailer.cli.write", "tailer.demo")
"""Who in `tailer` may import `writer_hooks`, and only when it is used."""
WRITER_TOOLS = (
    "position",
    "errors",
    "limits",
    "on_disk",
    "system_errors",
    "framing",
    "scan",
    "types",
    "schema",
    "segments",
    "rows",
    "reading",
)
"""What of `tailer` the writer may use."""
WRITER_READERS = (
    "writer_hooks.decoded_ahead",
    "writer_hooks.consume",
    "writer_hooks.measures",
    "writer_hooks.own_steps",
    "writer_hooks.read_here",
    "writer_hooks.subscribe",
    "writer_hooks.subscription",
)
"""Readers in the writer's own process, which run the reader's whole line, and what shows the numbers of both."""
WRITER_DISK = {"writer_hooks.disk"}
DISK = {"open", "os.open", "os.write", "os.fsync", "os.fdatasync", "os.rename", "os.replace", "os.unlink", "os.link"}
UNDER_CONSTRUCTION = {"_out", "_found", "found"}
"""Attributes that hold a result while it is made."""
OUTSIDE_WORLD = {"os", "io", "pathlib", "time", "random", "socket", "logging", "subprocess", "tempfile", "threading"}
IN_MEMORY = {"io.BytesIO"}
"""What of it is a buffer and no more."""


def within(module: str, homes: tuple[str, ...]) -> bool:
    return any(module == home or module.startswith(f"{home}.") for home in homes)


def test_a_room_imports_lower_levels_only() -> None:
    upward = [
        f"{place} imports {target}"
        for importer, target, place in imports()
        if within(target, PACKAGES)
        and room(target) != room(importer)
        and LEVEL_OF[room(target)] >= LEVEL_OF[room(importer)]
    ]
    assert upward == []


def test_every_room_has_a_level() -> None:
    package = ROOT / "tailer"
    there = {path.stem for path in package.iterdir() if (path.suffix == ".py" or path.is_dir()) and path.stem[0] != "_"}
    assert there | {"writer_hooks"} == {name for names in LEVELS for name in names}


def test_few_modules_stand_outside_the_rooms() -> None:
    assert len(list((ROOT / "tailer").glob("*.py"))) <= LOOSE_MAX


def test_nothing_below_the_rows_knows_arrow() -> None:
    below = LEVEL_OF["rows"]
    users = {
        place
        for importer, target, place in imports()
        if within(target, ("pyarrow",)) and LEVEL_OF[room(importer)] < below
    }
    assert users == set()


def test_there_is_no_circle() -> None:
    """Imports inside functions and behind TYPE_CHECKING count too."""
    modules = {module_name(file) for file in python_files()}
    graph: dict[str, set[str]] = {module: set() for module in modules}
    for importer, target, _ in imports():
        named = target if target in modules else target.rpartition(".")[0]
        if named in modules and named != importer:
            graph[importer].add(named)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


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
        if within(importer, PURE) and target.split(".")[0] in OUTSIDE_WORLD and target not in IN_MEMORY
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


def test_the_writer_has_words_of_its_own() -> None:
    """Whoever looks for `segment` or `scan` finds the reader's."""
    names = {module: module.rpartition(".")[2] for module in map(module_name, python_files())}
    of_reader = {word for module in names if within(module, ("tailer",)) for word in module.split(".")}
    assert [module for module, name in names.items() if within(module, ("writer_hooks",)) and name in of_reader] == []


def test_no_source_file_imports_tests() -> None:
    assert [place for _, target, place in imports() if target.split(".")[0] in {"tests", "pytest", "hypothesis"}] == []


def test_nobody_sets_another_objects_attributes() -> None:
    """What an object holds is its own to change: `self.tail.typed = …` reaches into another."""
    reaching = [
        f"{module_name(file)}:{target.lineno} {ast.unparse(target)}"
        for file in python_files()
        for node in ast.walk(tree(file))
        for target in _targets(node)
        if isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Attribute)
        and target.value.attr not in UNDER_CONSTRUCTION
    ]
    assert reaching == []


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return [
            part for target in node.targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])
        ]
    return [node.target] if isinstance(node, ast.AnnAssign | ast.AugAssign) else []
