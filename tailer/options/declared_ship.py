"""The options of `ship`: where data files go, as what, and which of them stay. Part of the table."""

from __future__ import annotations

from typing import Final

from tailer.options import kinds
from tailer.options.declared import Option

_TO: Final = "Where files go"
_STAY: Final = "What stays"
_SHIP: Final = ("ship",)

SHIP: Final = (
    Option(
        "to", kinds.TEXT, "kafka, files:DIR, http(s)://HOST/PATH, s3://BUCKET/FOLDER or gs://BUCKET/FOLDER; user and "
        "password for HTTP from CDC_TAIL_SHIP_USER and CDC_TAIL_SHIP_PASSWORD, a header from "
        "CDC_TAIL_SHIP_AUTHORIZATION.",
        _TO, None, "to", _SHIP, alone=True,
    ),
    Option(
        "format", kinds.word("files", "elasticsearch-bulk", "rows", "debezium", "debezium-avro", "debezium-cassandra"),
        "The files as they are; over HTTP also documents by a search engine's bulk API; with --to kafka what the value "
        "of a message is (default: rows).", _TO, None, "format", _SHIP, alone=True,
    ),
    Option("index", kinds.TEXT, "With --format elasticsearch-bulk: the name of a table's index.", _TO,
           "{keyspace}.{table}", "index", _SHIP, alone=True),
    Option(
        "leave_out_ranges", kinds.FLAG, "With --format elasticsearch-bulk: leave out deletes of ranges, of partitions "
        "of many rows, truncates and drops of tables, and tell how many; else they end the run (exit 7).", _TO, False,
        "leave-out-ranges", _SHIP,
    ),
    Option("keep", kinds.whole(1, 1_000_000, "N"), "How many of the newest files of each node stay though every "
           "shipper has sent them.", _STAY, 1, "keep", _SHIP),
    Option("keep_for", kinds.TIME, "How old a file gets at least before it is removed (30s, 12h, 7d).", _STAY, None,
           "keep-for", _SHIP),
    Option("list_shippers", kinds.FLAG, "Show who ships this folder, and how far each is.", None, False, "list", _SHIP),
    Option("drop", kinds.FLAG, "Forget the shipper that --consumer names: it holds no file back any more.", None, False,
           "drop", _SHIP),
)  # fmt: skip
