"""The options of `follow --to`: where rows go, and how often they are committed there. Part of the table."""

from __future__ import annotations

from typing import Final

from tailer.options import kinds
from tailer.options.declared import Option

_TO: Final = "Where rows go"
_MESSAGES: Final = "What messages look like"
_FILES: Final = "Data files"
_KAFKA: Final = "Kafka"
_TABLE: Final = "Databases"
_FOLLOW: Final = ("follow",)
_SHIP: Final = ("follow", "ship")

OUTLETS: Final = (
    Option(
        "to", kinds.TEXT, "Where rows go, with the position behind them, instead of standard output. Needs --consumer.",
        _TO, None, "to", _FOLLOW, alone=True,
    ),
    Option("commit_rows", kinds.whole(1, 10_000_000, "N"), "With --to: commit at so many rows.", _TO, 50_000,
           "commit-rows", _SHIP),
    Option("commit_bytes", kinds.SIZE, "With --to: commit at so many bytes of rows.", _TO, "16m", "commit-bytes",
           _SHIP),
    Option(
        "commit_seconds", kinds.SECONDS, "With --to: how long rows wait for more before they are committed, once "
        "nothing more is at hand.", _TO, 0.0, "commit-seconds", _FOLLOW,
    ),
    Option("retry_for", kinds.TIME, "How long a target may be away before the run ends (exit 8).", _TO,
           "10min", "retry-for", _SHIP),
    Option(
        "format", kinds.word("rows", "debezium", "debezium-avro", "debezium-cassandra", "arrow"), "What the value of a "
        "message, or a line of a data file, is: a change row as JSON, Debezium's envelope as JSON or Avro, or the form "
        "of Debezium's connector for Cassandra. Data files may be Arrow instead.", _MESSAGES, "rows", "format", _FOLLOW,
        alone=True,
    ),
    Option("topic", kinds.TEXT, "A message's topic, with {keyspace}, {table} and {node}.", _MESSAGES,
           "{keyspace}.{table}", "topic", _SHIP),
    Option("with_schema", kinds.FLAG, "With --format debezium: each key and value says its schema, as Kafka Connect's "
           "JSON converter does.", _MESSAGES, False, "with-schema", _SHIP),
    Option("tombstones", kinds.FLAG, "A message without value behind each that deletes one row, with the same key, for "
           "compacted topics.", _MESSAGES, False, "tombstones", _SHIP),
    Option("registry", kinds.TEXT, "With --format debezium-avro: the address of a schema registry (Confluent's "
           "interface, which Apicurio has too); without one each message has its schema.", _MESSAGES, None, "registry",
           _SHIP),
    Option("registry_ids", kinds.word("4", "8"), "With --registry: bytes of a schema's id in a message: 4 as "
           "Confluent's readers and Apicurio's from 3.0 on take it, 8 for Apicurio's before.", _MESSAGES, "4",
           "registry-ids", _SHIP),
    Option("roll_bytes", kinds.BYTES, "With --to files: how large a data file grows.", _FILES, "128m", "roll-bytes",
           _FOLLOW),
    Option("roll_seconds", kinds.SECONDS, "With --to files: how long rows wait at most for their data file to be "
           "finished.", _FILES, 60.0, "roll-seconds", _FOLLOW),
    Option("brokers", kinds.TEXT, "With --to kafka: some of the cluster's brokers, HOST:PORT,HOST:PORT.", _KAFKA, None,
           "brokers", _SHIP),
    Option(
        "kafka_config", kinds.FILE, "With --to kafka: a file of properties (TLS, SASL, compression), as librdkafka "
        "names them; the environment's CDC_TAIL_KAFKA_<PROPERTY> is stronger.", _KAFKA, None, "kafka-config", _SHIP,
    ),
    Option("create_topics", kinds.FLAG, "With --to kafka: make topics that are not there.", _KAFKA, False,
           "create-topics", _SHIP),
    Option("partitions", kinds.whole(1, 100_000, "N"), "Of topics that --create-topics makes. Default: as the brokers "
           "are set.", _KAFKA, None, "partitions", _SHIP),
    Option("positions_topic", kinds.TOPIC, "With --to kafka: the topic that positions stand in, which is compacted.",
           _KAFKA, "cdc-tail-positions", "positions-topic", _SHIP),
    Option("at_least_once", kinds.FLAG, "With --to kafka: without transactions. Quicker, and rows may come again after "
           "a kill.", _KAFKA, False, "at-least-once", _FOLLOW),
    Option("into", kinds.TEXT, "With --to sqlite, postgresql, duckdb: the table; made if it is not there. With --mode "
           "table it may have {keyspace} and {table} in its name.", _TABLE, None, "into", _FOLLOW, alone=True),
    Option("mode", kinds.word("changes", "table"), "With --to a database: rows are appended as changes; or, with "
           "--image, the table itself is kept.", _TABLE, "changes", "mode", _FOLLOW),
    Option("on_recreate", kinds.word("keep", "empty"), "With --mode table: what happens to a kept table when its "
           "source table is dropped or created again: it is renamed to NAME_before, or emptied.", _TABLE, "keep",
           "on-recreate", _FOLLOW),
)  # fmt: skip
