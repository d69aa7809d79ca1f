"""Every option that more than one door has, once: name, kind, default, help, and how each door spells it.

A table. What the doors make of it is in `to_terminal.py`, `to_spark.py` and `to_python.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from tailer.limits import SETTLE_ONCE_SECONDS, SETTLE_SECONDS
from tailer.options import kinds
from tailer.options.kinds import Kind
from tailer.schema.extras import Replicas
from tailer.schema.typed import OnSchemaChange
from tailer.segments.keystore import KEY_PASSWORD_VARIABLE, PASSWORD_VARIABLE
from tailer.types.cql import Decimals
from tailer.types.texts import OddKeys

OnError = Literal["stop", "quarantine"]

WHAT: Final = "What to read"
DEFINITIONS: Final = "Where definitions and keys come from"
RUN: Final = "How to run"
TROUBLE: Final = "What to do in trouble"
OUTPUT: Final = "What comes out"
TYPED: Final = "The typed form"
MASKED: Final = "What is masked"
ORIGIN: Final = "Where rows come from"
NODES: Final = "Nodes at http:// and https://"
PARTITIONS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    `name`: Python's, unique within a command. `default`: as a user would write it, None for none. `word`: on the
    command line, without dashes, of the `commands`. `spark`: as Spark spells it; `spark_default` where that is another
    one. `negated`: Spark asks for the opposite. `more`: what the pages tell instead of `help`, as Markdown. `alone`:
    other commands mean something else by the word, so that its environment variable names the command.
    """

    name: str
    kind: Kind
    help: str
    panel: str | None = None
    default: Any = None
    word: str = ""
    commands: tuple[str, ...] = ()
    spark: str = ""
    spark_default: Any = None
    negated: bool = False
    python: bool = False
    more: str = ""
    alone: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that fills it."""
        word = f"{self.commands[0]}-{self.word}" if self.alone else self.word
        return f"CDC_TAIL_{word.upper().replace('-', '_')}"

    def default_in(self, *, spark: bool) -> Any:
        """The default as a user would write it."""
        return self.spark_default if spark and self.spark_default is not None else self.default

    def default_for(self, *, spark: bool) -> Any:
        """The value where nobody gives one."""
        default = self.default_in(spark=spark)
        return default if default is None else self.kind.check(default)


def default_text(default: Any) -> str:
    """A default in words; empty for none."""
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, float) else str(default or "")


_ROWS: Final = ("follow", "stream")
_ASKS: Final = (*_ROWS, "schema")
_TOLD: Final = (*_ASKS, "quarantine")
_SERVER: Final = (*_TOLD, "compare")
_KEYS: Final = (*_ASKS, "inspect", "verify", "serve")
_NODES: Final = (*_ROWS, "schema", "inspect", "verify", "status")
_TYPED_ONLY: Final = "with `table`: "

TAIL: Final = (
    Option(
        "tables", kinds.TABLES, "Only this table; may be given again. With * and ? all tables with cdc = true that it "
        "covers; others by their exact names. Default: every table with cdc = true (schema: all but the server's own, "
        "whatever cdc says).", WHAT, (), "table", _ASKS, "tables", python=True,
        more="only these tables: exact names, and with `*` and `?` those with `cdc = true`; a list in Python, "
        "`shop.*,billing.invoices` in Spark; without it every table with `cdc = true`",
    ),
    Option(
        "tables_may_come", kinds.FLAG, "A table of --table that nothing defines yet may be created later; without this "
        "it is an error (exit 3).", WHAT, False, "table-may-come", _ROWS, "tablesMayCome", python=True,
        more="a table that is named exactly and that nothing defines yet may be created later; without this it is an "
        "error (exit 3, `[CDC-3]`), which has the nearest names",
    ),
    Option(
        "cassandra_yaml", kinds.FILE, "The server's own settings: they name the log folder where DIR is left out (as "
        "without this, where a package is installed), and fill --keystore and --cap.", WHAT, None, "cassandra-yaml",
        (*_KEYS, "status", "clean", "options"), "cassandraYaml", python=True,
        more="the server's own [`cassandra.yaml`](cassandra.md#the-servers-own-settings): it names the log folder, "
        "where no other is given, and the keystore",
    ),
    Option("node", kinds.NODE, "Whose log this is.", WHAT, "local", "node", (*_ROWS, "status"), "node", python=True,
           more="the node's name in the rows, for one folder"),
    Option(
        "start", kinds.START, "segment:offset, earliest, latest, a time (2026-11-20T10:00Z), or a node's JSON.", WHAT,
        "earliest", "from", _ROWS,
        "startingOffsets", more="`earliest`, `latest`, [`snapshot`](snapshot.md#in-spark), `segment:offset`, "
        "[a time](retention.md#from-a-time), or an [offset's JSON](spark.md#offsets-and-resuming); counts for a new "
        "checkpoint only",
    ),
    Option("until", kinds.POSITION, "Stop before this position.", WHAT, None, "until", ("follow",)),
    Option(
        "archive", kinds.TEXT, "A folder, or an object store (s3://BUCKET/PATH). clean puts there first what goes; "
        "readers read what is there as if it were in the log folder still (WHERE/ID: one log of it).", WHAT, None,
        "archive", (*_ROWS, "clean"), "archive", python=True,
        more="[the archive](retention.md#reading-on-from-the-archive) of `clean --archive`: what was put there is "
        "read as if it were in the folder still",
    ),
    Option("schema_changes", kinds.FLAG, "Give changes of definitions as rows too.", WHAT, False, "schema-changes",
           _ROWS, "includeSchemaChanges", python=True, more="rows with `op` = `schema`"),
    Option(
        "table", kinds.TABLE, "Only this table, in columns of its own types.",
        TYPED, None, "typed", _ROWS, "table", python=True,
        more="`keyspace.table`: rows of this table alone, in "
        "[its own columns](change-rows.md#the-typed-form)",
    ),
    Option(
        "on_schema_change", kinds.word(*get_args(OnSchemaChange)),
        "A column added or re-typed since the start stops the run, or is left out and counted.", TYPED, "fail",
        "on-schema-change", _ROWS, "onSchemaChange", python=True,
        more=f"{_TYPED_ONLY}a column that was added or re-typed since the start stops the run before the first row "
        "that needs it, which names it; a restart has it. `ignore`: go on with the columns of the start",
    ),
    Option(
        "decimals", kinds.word(*get_args(Decimals)), "decimal and varint as numbers of 38 digits, or as text. --output "
        "pretty has their own digits.", TYPED,
        "decimal", "decimals", _ROWS, "decimals", python=True,
        more=f"{_TYPED_ONLY}`decimal` and `varint` as numbers of 38 digits, or as `string`, which has no bounds",
    ),
    Option("meta_prefix", kinds.PREFIX, "What the names of the change's own columns begin with.", TYPED, "_",
           "meta-prefix", _ROWS, "metaPrefix", python=True,
           more=f"{_TYPED_ONLY}in front of the names of the change's own columns"),
    Option(
        "case_sensitive", kinds.FLAG, "Names of columns that are equal but for case are told apart.", TYPED, False,
        spark="spark.sql.caseSensitive", python=True,
        more=f"{_TYPED_ONLY}names of columns that are equal but for case are told apart; in Spark set it as in the "
        "session",
    ),
    Option(
        "mask", kinds.MASKS, "A column whose values are replaced: =hash, =null or =last4; of the primary key only by "
        "hash. May be given again.", MASKED, (), "mask", _ROWS, "mask", python=True,
        more="columns whose values are [masked](masks.md), as `shop.orders.email=hash`, `=null` or `=last4`; a list in "
        "Python, with commas in Spark",
    ),
    Option(
        "exclude", kinds.EXCLUDED, "A column, or a whole table, that is left out. May be given again.", MASKED, (),
        "exclude", _ROWS, "exclude", python=True,
        more="columns (`shop.orders.card`) and tables (`shop.secrets`) that are [left out](masks.md)",
    ),
    Option(
        "mask_key", kinds.FILE, "The file of the key that hashes are made with.", MASKED, None, "mask-key",
        (*_ROWS, "quarantine"), "maskKey", python=True,
        more="the file of the key that hashes are made with; in Spark one that driver and executors see",
    ),
    Option(
        "masks_may_come", kinds.FLAG, "A table or column of --mask and --exclude that nothing defines yet may come "
        "later; without this it is an error (exit 2).", MASKED, False, "mask-may-come", _ROWS, "masksMayCome",
        python=True,
        more="a table or column of `mask` and `exclude` that nothing defines yet may come later; without this it is an "
        "error (exit 2), for a misspelt mask hides nothing",
    ),
    Option("schema_file", kinds.FILE, "CQL of DESCRIBE ... WITH INTERNALS.", DEFINITIONS, None, "schema",
           (*_TOLD, "inspect"), "schemaFile", python=True,
           more="definitions besides the log's and the journal's: CQL of `DESCRIBE ... WITH INTERNALS` "
           "([more](cassandra.md#where-definitions-come-from))"),
    Option("server", kinds.ADDRESS, "A live node to ask (NODE=HOST,NODE=HOST: each its own); user and password from "
           "CDC_TAIL_CQL_USER and CDC_TAIL_CQL_PASSWORD.", DEFINITIONS, None, "server", _SERVER, "server", python=True),
    Option(
        "with_origin", kinds.FLAG, "Rows say where they come from: columns cluster, dc and rack, of the server or of "
        "--cluster, --dc and --rack.", ORIGIN, False, "with-origin", _ROWS, "withOrigin", python=True,
        more="columns `cluster`, `dc` and `rack` behind all others, as the `server` says them or the options of these "
        "names ([more](change-rows.md#where-a-row-comes-from))",
    ),
    Option("cluster", kinds.TEXT, "With --with-origin: the cluster's name, instead of the server's answer.", ORIGIN,
           None, "cluster", _ROWS, "cluster", python=True),
    Option("dc", kinds.TEXT, "With --with-origin: the data centre, or NODE=DC,NODE=DC.", ORIGIN, None, "dc", _ROWS,
           "dc", python=True),
    Option("rack", kinds.TEXT, "With --with-origin: the rack, or NODE=RACK,NODE=RACK.", ORIGIN, None, "rack", _ROWS,
           "rack", python=True),
    Option(
        "with_primary", kinds.FLAG, "A column primary: whether this node (--server) is the row's first replica.",
        ORIGIN, False, "with-primary", _ROWS, "withPrimary", python=True,
        more="a column `primary` behind all others: whether this node, the `server`, is the row's "
        "[first replica](cassandra.md#which-replica)",
    ),
    Option(
        "replicas", kinds.word(*get_args(Replicas)), "primary: only rows whose first replica this node (--server) is. "
        "What it missed is not given by another.", ORIGIN, "all", "replicas", _ROWS, "replicas", python=True,
        more="`primary`: only rows whose [first replica](cassandra.md#which-replica) this node, the `server`, is; for "
        "approximate uses",
    ),
    Option("server_ca", kinds.FILE, "Speak TLS with the node; certificates it may be signed by.", DEFINITIONS, None,
           "server-ca", _SERVER, "serverCa", python=True),
    Option("server_cert", kinds.FILE, "Our certificate, where the node asks for one; with its key, if that has no file "
           "of its own.", DEFINITIONS, None, "server-cert", _SERVER, "serverCert", python=True),
    Option("server_key", kinds.FILE, "The key of our certificate.", DEFINITIONS, None, "server-key", _SERVER,
           "serverKey", python=True),
    Option(
        "keystore", kinds.FILE, f"The server's keystore (JCEKS or PKCS12), for an encrypted log; its password from "
        f"{PASSWORD_VARIABLE}, the key's from {KEY_PASSWORD_VARIABLE} if it differs.", DEFINITIONS, None, "keystore",
        _KEYS, "keystore", python=True, more="the server's keystore (JCEKS or PKCS12), for an encrypted log; in Spark "
        "a file that driver and executors see, passwords from their environment",
    ),
    Option(
        "keystore_password_file", kinds.FILE, "The passwords from a file instead: the keystore's on its first line, "
        "the key's on its second.", DEFINITIONS, None, "keystore-password-file", _KEYS, "keystorePasswordFile",
        python=True,
    ),
    Option(
        "consumer", kinds.NAME, "Go on where NAME stopped, and save; two runs over one folder need two.", RUN, None,
        "consumer", (*_ROWS, "schema", "quarantine", "ship", "images", "compare"), "consumer", "spark", python=True,
        more="the name of the position in the state folder, from which the next run goes on; every Spark stream has "
        "one, two over one folder need two",
    ),
    Option(
        "state", kinds.FOLDER, "A private state folder, for logs on read-only mounts. Default: DIR.cdc_tail, beside "
        "the log folder.", RUN, None, "state", (*_TOLD, "inspect", "status", "consumers", "images", "compare"),
        "stateDir", python=True,
        more="a private state folder instead of `<folder>.cdc_tail`",
    ),
    Option(
        "hold_seconds", kinds.SECONDS, "How long at most `clean` leaves alone what a batch read needs.", RUN, 3600.0,
        spark="holdSeconds", python=True,
        more="batch reads: how long at most [`clean` leaves alone](retention.md#batch-reads) what this one needs; "
        "0: not at all",
    ),
    Option("node_ca", kinds.FILE, "For nodes at https://: certificates that theirs may be signed by. Default: the "
           "system's.", NODES, None, "node-ca", _NODES, "nodeCa", python=True),
    Option("node_cert", kinds.FILE, "Our certificate, where the node asks for one; with its key, if that has no file "
           "of its own.", NODES, None, "node-cert", _NODES, "nodeCert", python=True),
    Option("node_key", kinds.FILE, "The key of our certificate.", NODES, None, "node-key", _NODES, "nodeKey",
           python=True),
    Option("token_file", kinds.FILE, "The token to show the node, on the first line. Default: that in CDC_TAIL_TOKEN.",
           NODES, None, "token-file", _NODES, "tokenFile", python=True,
           more="the file of the token to show a node at `http(s)://`; without it that in `CDC_TAIL_TOKEN`; in Spark "
           "driver and executors read it"),
    Option("stopped", kinds.FLAG, "Nobody writes here any more: every segment is finished.", RUN, False, "stopped",
           (*_ROWS, "verify", "status", "clean"), "stopped", python=True),
    Option(
        "assume_finished_after", kinds.SECONDS, "Take a segment for finished that did not change for so long while a "
        "higher one has a sidecar.", RUN, None, "assume-finished-after", (*_ROWS, "verify"), "assumeFinishedAfter",
        python=True,
        more="seconds without change after which a segment counts as finished while a later one is written",
    ),
    Option(
        "on_error", kinds.word(*get_args(OnError)), "An entry that cannot be decoded stops, or is kept aside.", TROUBLE,
        "stop", "on-error", _ROWS, "onError", python=True,
        more="or `quarantine`: keep what cannot be decoded, and go on",
    ),
    Option(
        "odd_keys", kinds.word(*get_args(OddKeys)), "A key whose text Cassandra accepts and UTF-8 does not stands as "
        "its bytes in hex, or its entry is put into quarantine.", TROUBLE, "escape", "odd-keys", _ROWS, "oddKeys",
        python=True,
        more="or `quarantine`: entries with [a key whose text is no UTF-8](change-rows.md#texts) are put into "
        "quarantine, and reading goes on",
    ),
    Option(
        "quarantine_tables", kinds.TABLE_IDS, "The id of a table that no definition names: its entries are put into "
        "quarantine, and reading goes on; may be given again.", TROUBLE, (), "quarantine-table", _ROWS,
        "quarantineTables", python=True,
        more="ids of tables that no definition names: their entries are "
        "[put into quarantine](cassandra.md#tables-that-no-definition-names), and reading goes on",
    ),
    Option("accept_loss", kinds.FLAG, "Go on behind lost data, and record the loss.", TROUBLE, False, "accept-loss",
           _ROWS, "failOnDataLoss", negated=True, python=True,
           more="go on after a loss, and leave a record"),
    Option(
        "settle_seconds", kinds.SECONDS, "How long promised bytes may stay invisible before the log counts as corrupt. "
        f"Default: {SETTLE_SECONDS:.0f}, with --once {SETTLE_ONCE_SECONDS:.0f}.", TROUBLE, None, "settle",
        ("follow", "verify"), python=True,
    ),
)  # fmt: skip
"""What a tail can be asked: each is a field of `TailOptions`."""

SOURCE: Final = (
    Option("path", kinds.TEXT, "`DIR`, or `NODE=DIR,NODE=DIR` for several nodes.", spark="path"),
    Option("ending", kinds.POSITION, "The same as `startingOffsets` but for times, exclusive; batch reads only.", None,
           "latest", spark="endingOffsets"),
    Option(
        "max_bytes", kinds.BYTES, "Log in one micro-batch, such as 64m. Default: 8m for the console, 64m for jdbc, "
        "else 256m.", RUN, None, "max-bytes", ("stream",), "maxBytesPerTrigger", alone=True,
        more="bytes of log for one micro-batch (`64m`), shared equally between nodes; at least one section of each",
    ),
    Option(
        "min_partitions", kinds.whole(1, PARTITIONS_MAX, "N"), "Split a large micro-batch over at least so many tasks.",
        RUN, 1, "min-partitions", ("stream",), "minPartitions",
        more="into how many partitions a batch is cut at least, as far as its sections allow",
    ),
    Option(
        "read_on", kinds.word("executors", "driver"), "`driver`: the driver reads the files and sends their bytes "
        "along; executors need not see the folder.", None, "executors", spark="readOn",
    ),
    Option(
        "change_columns", kinds.word("none", "spark"), "spark: with --typed, the columns _change_type, _commit_version "
        "and _commit_timestamp, as change feeds of Spark and Delta name them.", TYPED, "none", "change-columns",
        ("stream",), "changeColumns",
        more=f"{_TYPED_ONLY}`spark` adds [the columns of a change feed](lakehouse.md#columns-of-a-change-feed), "
        "`_change_type`, `_commit_version`, `_commit_timestamp`",
    ),
    Option("wait_millis", kinds.MILLIS, "How long one look waits for new data.", None, 500.0, spark="waitMillis"),
    Option("tick_seconds", kinds.SECONDS, "After so long without rows an empty batch keeps Spark's Python workers "
           "alive; 0 = off.", None, 40.0, spark="tickSeconds"),
)  # fmt: skip
"""What only Spark's source can be asked."""
