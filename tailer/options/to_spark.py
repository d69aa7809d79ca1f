"""The data source's options: from Spark's texts to values, and back for who starts a query. Opens nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from tailer.errors import UsageError
from tailer.limits import MIB
from tailer.options.cassandra_yaml import server_settings
from tailer.options.declared import Option
from tailer.options.declared_commands import TABLE
from tailer.options.kinds import NODE, TIME
from tailer.options.log_place import LogPlace, log_place
from tailer.options.snapshot import FROM, NO_WISHES, SnapshotOptions, check_change_rows, snapshot_options
from tailer.options.sources import SETTINGS, unknown
from tailer.options.tail import PeerPlace, TailOptions, check_own_servers, tail_options

PROGRAM: Final = "cdc_tail"
CARRIED_BYTES: Final = 64 * MIB
"""Log in one micro-batch where the driver carries it and no other limit was given."""

_FIRST: Final = ("path", "node", "tables")
SPARK: Final = {
    option.spark: option
    for option in sorted(
        TABLE, key=lambda option: _FIRST.index(option.spark) if option.spark in _FIRST else len(_FIRST)
    )
    if option.spark
}
"""The valid options as users see them, those that most need first; Spark does not keep their case."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What one `load` asks for. `places`: node and where its log is, in the order of the nodes' names.

    `tail` is for every node but for what `of` sets. `max_bytes`: bytes of log for one micro-batch, None = no limit.
    `min_partitions`: into how many pieces a batch is cut at least, as far as sections allow. `on_driver`: the driver
    reads the files. `wait_seconds`: how long one look waits for new data; `tick_seconds`: 0 = never.
    `change_columns`: rows have the columns of a change feed too. `on_node_lost`: None takes the default by the number
    of nodes. `node_wait`: seconds that a batch which was handed out waits for its node. `removed`: nodes that left.
    `snapshots`: the tables are read first, as `snapshot` says; `spool`: where such rows wait, None for the usual place.
    """

    places: tuple[tuple[str, LogPlace], ...]
    tail: TailOptions
    max_bytes: int | None
    min_partitions: int
    on_driver: bool
    wait_seconds: float
    tick_seconds: float
    ending: str
    change_columns: bool = False
    on_node_lost: str | None = None
    node_wait: float = 0.0
    removed: tuple[str, ...] = ()
    snapshots: bool = False
    snapshot: SnapshotOptions = NO_WISHES
    spool: Path | None = None

    @property
    def waits(self) -> bool:
        """Whether a stream goes on while a node is away."""
        return waits_for_nodes(self.on_node_lost, several=self.several)

    @property
    def several(self) -> bool:
        """Whether it is, or was, of several nodes."""
        return len({*self.removed, *(name for name, _ in self.places)}) > 1

    @property
    def task_wait(self) -> float:
        """How long a task waits for its node, in seconds; 0: it fails at once."""
        return self.node_wait if self.waits else 0.0

    @property
    def tables(self) -> tuple[str, ...]:
        """What rows are of: a typed form is of one table."""
        return self.tail.selection.tables

    @property
    def batch_bytes(self) -> int | None:
        """Bytes of log for one micro-batch. What the driver carries must have a bound."""
        return self.max_bytes or (CARRIED_BYTES if self.on_driver else None)

    def of(self, node: str, *, once: bool) -> TailOptions:
        """The options of one node's tail; with several nodes, each has a state folder of its own.

        `once`: for a run that does not wait. A table may come to one node that another one knows already; whether all
        of them together know it is looked at before (`tailer.spark.named`).
        """
        tail = self.tail.of_node(node, several=self.several)
        if self.several:
            others = ((name, place) for name, place in self.places if name != node)
            peers = (PeerPlace(name, place, self.tail.of_node(name, several=True).state) for name, place in others)
            tail = replace(tail, peers=tuple(peers))
        return replace(tail, tables_may_come=True, one_of_several=True).for_run(once=once)


def waits_for_nodes(on_node_lost: str | None, *, several: bool) -> bool:
    """What `onNodeLost` comes to, None where nobody said it."""
    return (on_node_lost or ("wait" if several else "fail")) == "wait"


def parse_options(given: Mapping[str, str]) -> SourceOptions:
    """The options of `load`. UsageError for an unknown name or value; the error lists the valid ones."""
    texts = _by_name(given)
    values = {option.name: _value(option, texts.get(name, "")) for name, option in SPARK.items()}
    if values["change_columns"] == "spark" and values["table"] is None:
        raise UsageError(
            "changeColumns is for rows in a table's own columns",
            expected="with `table` (--typed)",
            remedy="Name the table, or leave changeColumns out: `op` tells of all rows what they change.",
        )
    path = texts.get("path", "")
    if (file := values[SETTINGS]) is not None:
        settings = server_settings(file)
        path = path or str(settings.folder)
        values["keystore"] = values["keystore"] or settings.keystore_at
    snapshots = values["start"] == FROM
    # What comes before the newest position the snapshot has.
    start = {"start": "latest"} if snapshots else {}
    places, tail = places_of(path, values["node"]), tail_options(values, program=PROGRAM, **start)
    if snapshots:
        check_change_rows(tail)
    if len(places) > 1:
        check_own_servers(tail)
    return SourceOptions(
        places=places,
        tail=tail,
        max_bytes=values["max_bytes"],
        min_partitions=values["min_partitions"],
        on_driver=values["read_on"] == "driver",
        wait_seconds=values["wait_millis"] / 1000,
        tick_seconds=values["tick_seconds"],
        ending=values["ending"],
        change_columns=values["change_columns"] == "spark",
        on_node_lost=values["on_node_lost"],
        node_wait=values["node_wait"],
        removed=values["removed_nodes"],
        snapshots=snapshots,
        snapshot=snapshot_options(values),
        spool=values["spool"],
    )


def spark_texts(values: Mapping[str, Any]) -> dict[str, str]:
    """The options among `values`, as Spark takes them; those that say its default are left out."""
    return {
        name: _text(option, not values[option.name] if option.negated else values[option.name])
        for name, option in SPARK.items()
        if option.name in values and values[option.name] != option.default_for(spark=True)
    }


def _by_name(given: Mapping[str, str]) -> dict[str, str]:
    known = {name.lower(): name for name in SPARK}
    texts: dict[str, str] = {}
    for name, value in given.items():
        spelled = known.get(name.lower())
        if spelled is None:
            raise unknown(f"option {name!r}", name, SPARK)
        texts[spelled] = value.strip()
    return texts


def _value(option: Option, text: str) -> Any:
    """An empty text says nothing."""
    if not text:
        return option.default_for(spark=True)
    value = option.kind.take_text(text, f"option {option.spark}")
    if isinstance(value, Path):
        return _folder(text)
    return not value if option.negated else value


def _text(option: Option, value: object) -> str:
    if option.kind is TIME:
        return f"{value}s"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, Path):
        return str(value.absolute())
    return str(value).lower() if isinstance(value, bool) else str(value)


def places_of(text: str, node: str) -> tuple[tuple[str, LogPlace], ...]:
    """Node and place of `DIR`, which is `node`'s, or of `NODE=DIR,NODE=DIR`. UsageError for other texts."""
    if not text:
        raise UsageError(
            "no log folder", remedy="Give the server's cdc_raw_directory: .load('/var/lib/cassandra/cdc_raw')."
        )
    parts = [part.strip().partition("=") for part in text.split(",")]
    if not all(equals and NODE.check(name) and folder for name, equals, folder in parts):
        return ((node, _place(text)),)
    if node != SPARK["node"].default:
        raise UsageError("both `node` and node names in `path`", remedy="Name the node in one place.")
    places = {name: _place(place) for name, _, place in parts}
    if len(places) < len(parts):
        raise UsageError(
            "two folders for one node", found=repr(text), remedy="Write NODE=DIR,NODE=DIR, each node once."
        )
    return tuple(sorted(places.items(), key=itemgetter(0)))


def _place(text: str) -> LogPlace:
    place = log_place(text)
    return _folder(text) if isinstance(place, Path) else place


def _folder(text: str) -> Path:
    # Absolute: executors may run elsewhere than the driver.
    return Path(text.removeprefix("file://") if text.startswith("file:///") else text).absolute()
