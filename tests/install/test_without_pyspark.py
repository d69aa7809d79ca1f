"""Where PySpark is not installed all works but what runs a Spark query, which says what to install.

In an environment with nothing but what `contrib/requirements-node.txt` asks for.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tailer.cli.app import COMMANDS
from tests.conftest import FreshFolder
from tests.helpers.cli import Result
from tests.helpers.compare import same_rows, without_truncates
from tests.house.import_graph import modules
from tests.install.environment import NODE, Environment, linked, requirements_of
from tests.oracle import expected

SPARK = ("stream", "demo")
NEED_EXTRAS = ("compare", "images", "serve", "snapshot")
"""Commands that are nothing without an extra; they say which."""

RUN = "from tailer.cli.app import run; run()"
IMPORT_ALL = """
import importlib, json, sys
failed = {}
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except Exception as error:
        failed[name] = repr(error)
print(json.dumps(failed))
"""
FIND = "import sys; from importlib.util import find_spec; print(*(name for name in sys.argv[1:] if find_spec(name)))"
READ = """
import sys, tailer
log = tailer.open(sys.argv[1], table="cdc.altered")
print(sum(batch.num_rows for batch in log.read()), sum(batch.num_rows for batch in log.follow(once=True)))
"""
TABLE = "CREATE TABLE shop.orders (id int PRIMARY KEY, article text) WITH cdc = true;\n"


EXTRAS = {
    "aiohttp": ("tailer.node_page.routes", "tailer.serve"),
    "confluent_kafka": ("tailer.sinks.kafka", "tailer.shipping"),
    "deltalake": ("tailer.sinks.deltalake",),
    "duckdb": ("tailer.sinks.database.duckdb",),
    "fastavro": ("tailer.sinks.envelope.avro",),
    "lmdb": (
        "tailer.cli.follow_images",
        "tailer.cli.snapshot_asked",
        "tailer.comparing.run",
        "tailer.image_state",
        "tailer.tail.images",
        "tailer.tail.snapshot",
    ),
    "opentelemetry": ("tailer.metrics.otel",),
    "prometheus_client": ("tailer.metrics.prometheus",),
    "psycopg": ("tailer.sinks.database",),
}
"""Packages of extras, which are not there, and the modules that need them: who imports these says what to install."""

NEED_LMDB = "images need the package lmdb. Install it: pip install 'cdc-tail[images]'."
SILENT = ("archive", "clean", "consumers", "quarantine", "ship", "write")
MODULES = [name for name in modules() if not name.startswith("tailer.spark")]


def compiles(module: str) -> bool:
    return ".compiled" in module or module.startswith("tailer.jit.")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return linked(tmp_path_factory.mktemp("node"), requirements_of(NODE))


def python(node: Environment, program: str, *arguments: str | Path, stdin: str = "") -> Result:
    return node.run("python", "-c", program, *arguments, stdin=stdin, CDC_TAIL_JIT="0")


def test_nothing_of_spark_is_there(node: Environment) -> None:
    found = python(node, FIND, "pyspark", "py4j", "delta", "pandas", "pytest", "pyarrow", "tailer")
    assert found.out.split() == ["pyarrow", "tailer"], found.err


def test_every_module_but_those_of_spark_and_extras_can_be_imported(node: Environment) -> None:
    """Compiled forms apart: where their code is not kept, to import them is to compile them."""
    names = sorted(name for name in MODULES if not compiles(name))
    assert len(names) > 200
    ran = python(node, IMPORT_ALL, *names)
    assert ran.code == 0, ran.err
    failed = json.loads(ran.out)
    missing = {module: re.findall(r"No module named '(\w+)", error) for module, error in failed.items()}
    assert {module for module, names in missing.items() if len(names) != 1} == set()
    astray = {module for module, (name,) in missing.items() if not module.startswith(EXTRAS.get(name, ()))}
    assert astray == set()
    assert {name for (name,) in missing.values()} == EXTRAS.keys()


@pytest.mark.slow
def test_every_compiled_form_can_be_imported(node: Environment, compiled_code: Path) -> None:
    names = sorted(name for name in MODULES if compiles(name))
    assert len(names) > 50
    ran = python(node, IMPORT_ALL, *names)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out) == {}


@pytest.mark.parametrize("command", sorted({*COMMANDS} - {*SPARK, *NEED_EXTRAS}))
def test_every_command_runs(command: str, node: Environment, fresh_folder: FreshFolder, tmp_path: Path) -> None:
    folder, schema = fresh_folder("50-cases"), tmp_path / "schema.cql"
    schema.write_text(TABLE)
    (tmp_path / "archive").mkdir()
    arguments: dict[str, list[str | Path]] = {
        "follow": [folder, "--once", "--output", "json", "--consumer", "node"],
        "clean": [folder, "--no-consumers", "--dry-run"],
        "write": [tmp_path / "log", "--schema", schema],
        "archive": [tmp_path / "archive", "list"],
        "quarantine": [folder, "list"],
        "ship": [tmp_path / "files", "--to", f"files:{tmp_path / 'copy'}", "--once"],
        "options": ["follow"],
    }
    if command == "ship":
        made = python(node, RUN, "follow", folder, "--once", "--consumer", "c", "--to", f"files:{tmp_path / 'files'}")
        assert made.code == 0, made.err
    line = '{"table": "shop.orders", "values": {"id": 1, "article": "tea"}}\n'
    ran = python(node, RUN, command, *arguments.get(command, [folder]), stdin=line)
    assert (ran.code, "Traceback" in ran.err) == (0, False), ran.err
    assert ran.out or command in SILENT, "these have nothing to say here"
    if command == "write":
        ran = python(node, RUN, "follow", tmp_path / "log" / "cdc_raw", "--once", "--output", "json")
        assert [json.loads(row)["columns"] for row in ran.lines] == [{"article": "tea"}], ran.err


def test_follow_gives_every_row(node: Environment, sets_root: Path, fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-cases")
    ran = python(node, RUN, "follow", folder, "--once", "--output", "json")
    assert ran.code == 0, ran.err
    same_rows(expected(sets_root / "50-cases", folder).rows, without_truncates(ran.lines))


def test_a_program_reads_a_table_in_its_own_columns(
    node: Environment, sets_root: Path, fresh_folder: FreshFolder
) -> None:
    folder = fresh_folder("50-cases")
    ran = python(node, READ, folder)
    rows = [row for row in expected(sets_root / "50-cases", folder).rows if row.data["table"] == "altered"]
    assert ran.out.split() == [str(len(rows))] * 2, ran.err


@pytest.mark.parametrize(
    "arguments", [["stream", "{}"], ["stream", "{}", "--to", "jdbc"], ["demo"], ["demo", "--cassandra"]]
)
def test_what_runs_a_query_says_what_to_install(
    arguments: list[str], node: Environment, fresh_folder: FreshFolder
) -> None:
    folder = fresh_folder("50-cases")
    ran = python(node, RUN, *(word.format(folder) for word in arguments))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("cdc-tail: this runs a Spark query, which needs PySpark: expected 4.0 or newer, found ")
    assert "pip install 'pyspark>=4.0'" in ran.err
    assert ran.err.count("\n") == 1
    assert not folder.with_name("cdc_raw.cdc_tail").exists()


def test_what_serves_a_log_says_what_to_install(node: Environment, fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-cases")
    ran = python(node, RUN, "serve", folder, "--no-auth")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "cdc-tail: serve: there is no package aiohttp. Install it: pip install 'cdc-tail[serve]'.\n"
    assert not folder.with_name("cdc_raw.cdc_tail").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["images", "--consumer", "c"],
        ["follow", "--image", "after", "--consumer", "c"],
        ["follow", "--image", "after", "--once"],
        ["compare", "--consumer", "c", "--table", "ks.t", "--server", "127.0.0.1"],
        ["snapshot", "--consumer", "c", "--table", "ks.t", "--server", "127.0.0.1"],
    ],
)
def test_what_gives_images_says_what_to_install(
    arguments: list[str], node: Environment, fresh_folder: FreshFolder
) -> None:
    folder = fresh_folder("50-cases")
    ran = python(node, RUN, arguments[0], folder, *arguments[1:])
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"cdc-tail: {NEED_LMDB}\n"
    assert not folder.with_name("cdc_raw.cdc_tail").exists()


def test_a_program_that_wants_images_is_told_what_to_install(node: Environment, fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-cases")
    ran = python(node, "import sys, tailer; tailer.open(sys.argv[1], image='both', consumer='c')", folder)
    assert f"UsageError: {NEED_LMDB}" in ran.err
    assert not folder.with_name("cdc_raw.cdc_tail").exists()


@pytest.mark.parametrize("command", SPARK)
def test_help_of_what_runs_a_query_needs_no_spark(command: str, node: Environment) -> None:
    assert f"cdc-tail {command}" in python(node, RUN, command, "--help").out
