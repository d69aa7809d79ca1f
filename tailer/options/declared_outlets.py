"""The options of `follow --to`: where rows go, and how often they are committed there. Part of the table."""

from __future__ import annotations

from typing import Final

from tailer.options import kinds
from tailer.options.declared import Option

_TO: Final = "Where rows go"
_MESSAGES: Final = "What messages look like"
_FOLLOW: Final = ("follow",)

OUTLETS: Final = (
    Option(
        "to", kinds.TEXT, "Where rows go, with the position behind them, instead of standard output. Needs --consumer.",
        _TO, None, "to", _FOLLOW, alone=True,
    ),
    Option("commit_rows", kinds.whole(1, 10_000_000, "N"), "With --to: commit at so many rows.", _TO, 50_000,
           "commit-rows", _FOLLOW),
    Option("commit_bytes", kinds.SIZE, "With --to: commit at so many bytes of rows.", _TO, "16m", "commit-bytes",
           _FOLLOW),
    Option(
        "commit_seconds", kinds.SECONDS, "With --to: how long rows wait for more before they are committed, once "
        "nothing more is at hand.", _TO, 0.0, "commit-seconds", _FOLLOW,
    ),
    Option("retry_for", kinds.TIME, "With --to: how long a target may be away before the run ends (exit 8).", _TO,
           "10min", "retry-for", _FOLLOW),
    Option(
        "format", kinds.word("rows", "debezium", "debezium-avro", "debezium-cassandra"), "What the value of a message "
        "is: a change row as JSON, Debezium's envelope as JSON or Avro, or the form of Debezium's connector for "
        "Cassandra.", _MESSAGES, "rows", "format", _FOLLOW, alone=True,
    ),
    Option("topic", kinds.TEXT, "A message's topic, with {keyspace}, {table} and {node}.", _MESSAGES,
           "{keyspace}.{table}", "topic", _FOLLOW),
    Option("with_schema", kinds.FLAG, "With --format debezium: each key and value says its schema, as Kafka Connect's "
           "JSON converter does.", _MESSAGES, False, "with-schema", _FOLLOW),
    Option("tombstones", kinds.FLAG, "A message without value behind each that deletes one row, with the same key, for "
           "compacted topics.", _MESSAGES, False, "tombstones", _FOLLOW),
    Option("registry", kinds.TEXT, "With --format debezium-avro: the address of a schema registry (Confluent's "
           "interface, which Apicurio has too); without one each message has its schema.", _MESSAGES, None, "registry",
           _FOLLOW),
)  # fmt: skip
