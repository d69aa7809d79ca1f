"""What is known of a CQL type stands in its row of `tailer.types.kinds`: elsewhere no type is told by its name."""

from __future__ import annotations

import ast

from tailer.types.kinds import BY_NAME, NATIVES
from tests.house.source_tree import module_name, python_files, tree

NAMES = {*BY_NAME, *NATIVES}
HOMES = {
    # The table.
    "tailer.types.kinds",
    # A type's functions, which name it in errors.
    "tailer.types.integers",
    "tailer.types.scalars",
    "tailer.types.times",
    "tailer.types.values",
    # What each type is in messages: in Avro, in Kafka Connect, for Debezium's connector.
    "tailer.sinks.envelope.avro_values",
    "tailer.sinks.envelope.connect_values",
    "tailer.sinks.envelope.java_values",
    # What Python's values are for each type, there and back.
    "writer_hooks.from_bytes",
    "writer_hooks.python_values",
}
OTHER_MEANINGS = {
    # Python's codec.
    "tailer.framing.sidecar": {"ascii"},
    "tailer.segments.jceks": {"ascii"},
    "writer_hooks.failed": {"ascii"},
    # A word of the option that says what decimals become.
    "tailer.options": {"decimal", "text"},
    "tailer.schema.typed": {"decimal"},
    "tailer.spark": {"decimal"},
    "tailer.types.cql": {"decimal", "counter"},
    # A kind of metric.
    "tailer.metrics": {"counter"},
    # A form of sentences, and when one was said.
    "tailer.cli.standard_error": {"text", "time"},
    # The grammar of CQL files, and the hidden columns of compact tables.
    "tailer.schema.cql_alter": {"timestamp"},
    "tailer.schema.cql_tokens": {"uuid"},
    "tailer.schema.cql_model": {"blob", "counter", "empty", "text"},
    # The layout of `system_schema`, by which all other types are learned; `counter` is a table's flag.
    "tailer.schema.decode": {"blob", "boolean", "int", "text", "timestamp", "uuid"},
    "tailer.schema.derive": {"counter"},
    "tailer.schema.rows": {"blob", "boolean", "int", "text", "timestamp", "uuid"},
    # Types of databases.
    "tailer.sinks.database": {
        "bigint", "boolean", "date", "decimal", "double", "float", "smallint", "text", "timestamp",
    },
    # Types of Avro, and of Kafka Connect.
    "tailer.sinks.envelope.avro": {"boolean", "int"},
    "tailer.sinks.envelope.debezium_schema": {"boolean"},
    # Two whose values the server's own classes spell in another way.
    "tailer.sinks.envelope.cql_names": {"blob", "timestamp"},
    # Types of Spark.
    "tailer.spark.sinks.database": {
        "bigint", "boolean", "date", "decimal", "double", "float", "int", "smallint", "timestamp", "tinyint",
    },
}  # fmt: skip


def test_types_are_told_by_the_table() -> None:
    astray = []
    for file in python_files():
        module = module_name(file)
        others = [words for home, words in OTHER_MEANINGS.items() if f"{module}.".startswith(f"{home}.")]
        allowed = NAMES if module in HOMES else set().union(*others)
        astray += [
            f"{module}:{node.lineno}: {node.value}"
            for node in ast.walk(tree(file))
            if isinstance(node, ast.Constant) and node.value in NAMES - allowed
        ]
    assert astray == []


def test_no_other_meaning_is_listed_in_vain() -> None:
    held = {
        (module_name(file), node.value)
        for file in python_files()
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    listed = {(home, word) for home, words in OTHER_MEANINGS.items() for word in words}
    unused = {
        (home, word)
        for home, word in listed
        if not any(found == word and f"{module}.".startswith(f"{home}.") for module, found in held)
    }
    assert unused == set()
