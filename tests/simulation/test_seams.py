"""The product reaches its system by no other functions than those that the simulation exchanges, and keeps nothing in
variables of its modules that is not each simulated process' own."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from tests.simulation import interposed, memory
from tests.simulation.calls import SimulatedOs

ROOT = Path(__file__).resolve().parents[2]

EXCHANGED = {"os", "fcntl", "time"}

NOT_SIMULATED = {
    # What Spark, compiled code, commands of a person and the demo do, and what reads the machine alone.
    "tailer/spark", "tailer/jit", "tailer/cli", "tailer/demo", "compiled",
}  # fmt: skip
ONLY_READS = {
    # Words and facts of this process: no call to the system, or none that a simulation could change.
    "os.environ", "os.path", "os.PathLike", "os.stat_result", "os.devnull", "os.fspath", "os.fsdecode", "os.strerror",
    "os.major", "os.minor", "os.ST_RDONLY", "os.supports_effective_ids", "os.fdopen", "os.get_terminal_size",
    "os.getegid", "os.geteuid", "os.getgrouplist", "os.getgroups", "os.getuid", "os.pathsep",
}  # fmt: skip

OF_ALL = {
    # A cache whose values depend on their keys alone; what belongs to its key; and what no simulation imports.
    "tailer.rows.prepared._shared", "tailer.metrics.prometheus._JOINED", "tailer.spark.iceberg._NUMBERS",
}  # fmt: skip


def variables() -> Iterator[str]:
    """Each variable of a module that changes: a container that is empty at first, or a counter."""
    for folder in ("tailer", "writer_hooks"):
        for file in (ROOT / folder).rglob("*.py"):
            place = file.relative_to(ROOT)
            if {"jit", "compiled"} & {*place.parts}:
                continue
            module = ".".join(place.with_suffix("").parts)
            for node in ast.parse(file.read_text()).body:
                if (
                    isinstance(node, ast.Assign | ast.AnnAssign)
                    and node.value
                    and _changes(node, ast.unparse(node.value))
                ):
                    (target,) = node.targets if isinstance(node, ast.Assign) else (node.target,)
                    yield f"{module}.{ast.unparse(target)}"


def _changes(node: ast.Assign | ast.AnnAssign, value: str) -> bool:
    if isinstance(node, ast.AnnAssign) and "Mapping" in ast.unparse(node.annotation):
        return False
    made = r"(itertools\.)?(set|dict|list|deque|count|defaultdict|OrderedDict|Weak\w+)\b.*\(\d*\)"
    return value in ("{}", "[]") or re.fullmatch(made, value) is not None


def calls() -> Iterator[tuple[str, Path]]:
    """Each `os.NAME` and `fcntl.NAME` of the product, with its file."""
    for folder in ("tailer", "writer_hooks"):
        for file in (ROOT / folder).rglob("*.py"):
            place = str(file.relative_to(ROOT))
            if any(place.startswith(left) or f"/{left}/" in place for left in NOT_SIMULATED):
                continue
            tree = list(ast.walk(ast.parse(file.read_text())))
            modules = {each.name for node in tree if isinstance(node, ast.Import) for each in node.names}
            for node in tree:
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    name = f"{node.value.id}.{node.attr}"
                    if node.value.id in modules & EXCHANGED and not re.fullmatch(r"\w+\.[A-Z]+_\w+", name):
                        yield name, file


def test_each_function_is_known() -> None:
    known = {name for name, _ in inspect.getmembers(SimulatedOs, inspect.isfunction)}
    unknown = {name for name, _ in calls() if name not in ONLY_READS and name.partition(".")[2] not in known}
    assert unknown <= interposed.LEFT, f"not simulated: {unknown - interposed.LEFT}"


def test_what_is_left_is_still_used() -> None:
    assert {name for name, _ in calls()} >= interposed.LEFT


def test_each_variable_of_a_module_is_one_of_its_process() -> None:
    assert sorted({*variables()} - OF_ALL - {*memory.VARIABLES}) == []
