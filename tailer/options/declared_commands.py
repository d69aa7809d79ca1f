"""The options that one command of the terminal has, or that say how results are shown: the other part of the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tailer.options import kinds
from tailer.options.declared import OUTPUT, RUN, SOURCE, TAIL, WHAT, Option
from tailer.options.declared_images import IMAGES
from tailer.options.declared_nodes import NODES
from tailer.options.declared_outlets import OUTLETS
from tailer.options.declared_serve import SERVE
from tailer.options.declared_ship import SHIP
from tailer.options.declared_snapshot import SNAPSHOT

_SINK: Final = "Where rows go"
_LIMITS: Final = "What to keep at most"
_LOG: Final = "The log"
_HEALTH: Final = "As a health check"
_ROWS: Final = ("follow", "stream")
_REPORTS: Final = ("inspect", "schema", "verify", "status", "consumers", "archive", "images", "compare", "options")

COMMANDS: Final = (
    *_ROWS, "inspect", "schema", "verify", "status", "consumers", "quarantine", "clean", "archive", "ship", "serve",
    "images", "snapshot", "compare", "write", "demo", "options",
)  # fmt: skip
"""In the order of the help. A new command is its name here and its file in `tailer/cli/`."""

_CAP: Final = (
    "With --metrics: the server's cdc_total_space, to tell how near the log folder is to it. Default: the server's "
    "own, min(4096 MiB, an eighth of the volume)."
)

LOG_FORMAT: Final = Option(
    "log_format", kinds.word("text", "json"), "Sentences on standard error with time and level: as text, which leaves "
    "them out on a terminal, or lines of JSON.", OUTPUT, None, "log-format", COMMANDS,
)  # fmt: skip
"""Named here, for sentences are said of other options too."""

_OWN: Final = (
    Option("once", kinds.FLAG, "All that is there now, then exit.", RUN, False, "once", (*_ROWS, "ship")),
    Option("commit_every", kinds.COMMIT, "When the consumer's position is saved: batch, segment, '1000 rows' or "
           "'500 ms'.", RUN, "batch", "commit-every", ("follow",)),
    Option("output", kinds.word("pretty", "json", "arrow"), "Default: pretty on a terminal, else json.", OUTPUT, None,
           "output", (*_ROWS, "quarantine")),
    Option("output", kinds.word("pretty", "json"), "Default: pretty on a terminal, else json.", OUTPUT, None, "output",
           _REPORTS),
    LOG_FORMAT,
    # follow, stream
    Option("metrics", kinds.LISTEN, "Serve /metrics (Prometheus), /healthz and /readyz there; without a host for this "
           "machine alone.", RUN, None, "metrics", _ROWS),
    Option("cap", kinds.SIZE, _CAP, RUN, None, "cap", ("follow",), alone=True),
    Option("cap", kinds.SIZE, _CAP, RUN, None, "cap", ("stream",), alone=True),
    # stream
    Option("progress", kinds.SECONDS, "How often a line tells how far it is, where standard error is no terminal; "
           "0: never.", RUN, 60.0, "progress", ("stream",)),
    Option("option", kinds.PAIRS, "Any other option of the data source; may be given again.", RUN, (), "option",
           ("stream",)),
    Option("conf", kinds.PAIRS, "A setting of Spark's, instead of ours or besides; may be given again.", RUN, (),
           "conf", ("stream",)),
    Option("to", kinds.word("console", "parquet", "delta", "iceberg", "jdbc"), "Where rows go.", _SINK, "console", "to",
           ("stream",), alone=True),
    Option("out", kinds.FOLDER, "The folder for --to parquet, delta and iceberg.", _SINK, None, "path", ("stream",)),
    Option("url", kinds.TEXT, "The database for --to jdbc: jdbc:postgresql://HOST/DATABASE or jdbc:sqlite:FILE; user "
           "and password from CDC_TAIL_JDBC_USER and CDC_TAIL_JDBC_PASSWORD.", _SINK, None, "url", ("stream",)),
    Option("into", kinds.TEXT, "The table for --to jdbc, or, as CATALOG.DATABASE.TABLE, for --to iceberg; made if it "
           "is not there.", _SINK, None, "into", ("stream",)),
    Option(
        "checkpoint", kinds.FOLDER, "Where the query keeps its position. Default: OUT/_checkpoint for what has a "
        "--path; what goes --into a table needs one; for the console none is kept, and every run begins at --from.",
        _SINK, None, "checkpoint", ("stream",),
    ),
    # inspect, schema
    Option("count_tables", kinds.FLAG, "Count entries and bytes by table.", None, False, "tables", ("inspect",)),
    Option("entries", kinds.FLAG, "List every entry: position, size, tables.", None, False, "entries", ("inspect",)),
    Option("at", kinds.POSITION, "As of segment:offset, earliest, or a node's JSON; default: the newest.", None,
           "latest", "at", ("schema",)),
    Option("source", kinds.FLAG, "Tell where each definition comes from, retracted records too.", None, False, "source",
           ("schema",)),
    Option("changes", kinds.FLAG, "List what changed, by position, instead of the tables.", None, False, "changes",
           ("schema",)),
    # status, consumers, clean
    Option("cap", kinds.SIZE, "The server's cdc_total_space. Default: the server's own, min(4096 MiB, an eighth of the "
           "volume).", None, None, "cap", ("status",), alone=True),
    Option("watch", kinds.FLAG, "Show it again and again, until interrupted.", None, False, "watch", ("status",)),
    Option("every", kinds.number("SECONDS", least=0.1), "How often with --watch.", None, 2.0, "every", ("status",)),
    Option(
        "max_lag", kinds.LAG, "Exit 9 if a consumer lags more than this (30s, 5min; 64m, 1g: m is MiB), 5 if one has "
        "lost changes, 6 if there is none.", _HEALTH, None, "max-lag", ("status",),
    ),
    Option("node", kinds.NODE, "For seek: which node's position, if it knows several.", WHAT, None, "node",
           ("consumers",), alone=True),
    Option("dry_run", kinds.FLAG, "Say what would go, and change nothing.", None, False, "dry-run", ("clean",)),
    Option(
        "max_age", kinds.TIME, "Nothing older than this (30s, 90min, 12h, 7d). What consumers need stays, unless "
        "--force is given.", _LIMITS, None, "max-age", ("clean",), alone=True,
    ),
    Option(
        "max_bytes", kinds.SIZE, "Not more than this in the folder (64m, 10g). What consumers need stays, unless "
        "--force is given.", _LIMITS, None, "max-bytes", ("clean",), alone=True,
    ),
    Option(
        "force", kinds.FLAG, "Over these limits, delete what consumers need too: they stop with a loss error (exit 5).",
        _LIMITS, False, "force", ("clean",),
    ),
    Option(
        "forget_after", kinds.TIME, "How long ids that were cleaned, or never there, are remembered; by the id's own "
        "time, and the newest in any case. One that appears later is a loss (exit 5).", _LIMITS, "30d", "forget-after",
        ("clean",),
    ),
    Option("cap", kinds.SIZE, "The server's cdc_total_space: exit 9 if what consumers have not read is over it. "
           "Default: the server's own.", _LIMITS, None, "cap", ("clean",), alone=True),
    Option("log", kinds.NODE, "The id of one log's state, where the archive has several.", WHAT, None, "log",
           ("archive",)),
    Option("max_age", kinds.TIME, "For restore: only segments that were last written within this (12h, 7d).", WHAT,
           None, "max-age", ("archive",), alone=True),
    Option("no_consumers", kinds.FLAG, "Free what is finished even though no consumer is registered.", None, False,
           "no-consumers", ("clean",)),
    # write, demo
    Option("schema", kinds.FILE, "CREATE TABLE statements (CQL) of its tables.", None, None, "schema", ("write",),
           alone=True),
    Option("sync", kinds.SYNC, "batch, group:MS or periodic:MS: when appended lines are made durable.", None, "batch",
           "sync", ("write",)),
    Option("acks", kinds.FLAG, "Print each line's position (segment:offset) once it is durable.", None, False, "acks",
           ("write",)),
    Option("recover", kinds.FLAG, "Only close what a dead writer left, so that readers can go on.", None, False,
           "recover", ("write",)),
    Option("segment_size", kinds.SIZE, "Of a segment.", _LOG, "32m", "segment-size", ("write",)),
    Option("max_age", kinds.TIME, "Finish a segment this old (30s, 5min).", _LOG, None, "max-age", ("write",),
           alone=True),
    Option("compression", kinds.word("lz4", "zstd"), "Of the segments.", _LOG, None, "compression", ("write",)),
    Option("cap", kinds.SIZE, "Of cdc_raw; what then, see --on-cap.", _LOG, None, "cap", ("write",), alone=True),
    Option("on_cap", kinds.word("block", "drop_oldest"), "What happens at the cap.", _LOG, "block", "on-cap",
           ("write",)),
    Option("seconds", kinds.number("N"), "How long the writing takes. Default: up to 25, less where Spark is slow.",
           None, None, "seconds", ("demo",)),
    Option("cassandra", kinds.FLAG, "Replay a recorded Cassandra server's log instead.", None, False, "cassandra",
           ("demo",)),
    Option(
        "config", kinds.FILE, "A TOML file with options that the command line leaves out, in sections by command; "
        "the environment's CDC_TAIL_<OPTION> is stronger.", None, None, "config", COMMANDS,
    ),
)  # fmt: skip

_NOT_OF_SNAPSHOT: Final = ("once", "start", "until", "commit_every", "metrics", "cap", "on_node_lost")
"""A snapshot begins where logs end, comes to an end itself, and needs all nodes."""


def _with_snapshot(option: Option) -> Iterator[Option]:
    """A snapshot goes where the rows of `follow` go. By itself where its environment variable names the command."""
    if "follow" not in option.commands or "snapshot" in option.commands or option.name in _NOT_OF_SNAPSHOT:
        yield option
    elif option.alone:
        yield from (option, replace(option, commands=("snapshot",)))
    else:
        yield replace(option, commands=(*option.commands, "snapshot"))


_DECLARED: Final = (*TAIL, *SOURCE, *NODES, *IMAGES, *SNAPSHOT, *OUTLETS, *SHIP, *SERVE, *_OWN)

TABLE: Final = tuple(made for option in _DECLARED for made in _with_snapshot(option))
"""All options there are."""


def options_of(command: str) -> tuple[Option, ...]:
    """The options of one command, in the order of its help."""
    return tuple(option for option in TABLE if command in option.commands)
