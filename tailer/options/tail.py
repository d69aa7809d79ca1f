"""What a user can ask of a tail, as one value: the same for the terminal, for Python and for Spark. Knows no door."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec.structs import replace as replace_struct

from tailer.errors import UsageError
from tailer.limits import SETTLE_ONCE_SECONDS
from tailer.options.declared import TAIL, OnError
from tailer.options.log_place import LogPlace
from tailer.schema.extras import ORIGIN, Replicas, extra_columns
from tailer.schema.masks import Masks, masks_of
from tailer.schema.selection import Selection
from tailer.schema.typed import OnSchemaChange, TypedOptions
from tailer.segments.keystore import key_source
from tailer.segments.mask_key import MaskKey, mask_key
from tailer.segments.segment import KeySource
from tailer.types.cql import Decimals
from tailer.types.texts import OddKeys

_TABLE: Final = re.compile(r"\w+\.\w+", re.ASCII)
_DEFAULTS: Final[dict[str, Any]] = {option.name: option.default_for(spark=False) for option in TAIL}


class PeerPlace(NamedTuple):
    """Another node of the cluster that is followed with this one: its name, its log, and its state folder (None where
    the node keeps it)."""

    name: str
    place: LogPlace
    state: Path | None


@dataclass(frozen=True, slots=True)
class TailOptions:
    """Options of a tail: those of `declared.TAIL`, where each is told of, with their defaults; doors check values.

    `settle_seconds`: None takes the default of the kind of run. `program`: who the state folder says is running.
    `outlet`: rows go to an outlet, which keeps a position too. `one_of_several`: what this log does not define another
    one may, and somebody else holds the names against all of them. `left`: its server has left for good. `kept`: what a
    service's writer keeps of its log is read too, though it is not in the folder any more (`archive/kept.py`).
    `peers`: the other nodes of the run, whose logs show schema changes that this one's lacks.
    """

    cassandra_yaml: Path | None = _DEFAULTS["cassandra_yaml"]
    node: str = _DEFAULTS["node"]
    tables: tuple[str, ...] = _DEFAULTS["tables"]
    tables_may_come: bool = _DEFAULTS["tables_may_come"]
    schema_file: Path | None = _DEFAULTS["schema_file"]
    server: str | None = _DEFAULTS["server"]
    cluster: str | None = _DEFAULTS["cluster"]
    dc: str | None = _DEFAULTS["dc"]
    rack: str | None = _DEFAULTS["rack"]
    with_origin: bool = _DEFAULTS["with_origin"]
    with_primary: bool = _DEFAULTS["with_primary"]
    replicas: Replicas = _DEFAULTS["replicas"]
    server_ca: Path | None = _DEFAULTS["server_ca"]
    server_cert: Path | None = _DEFAULTS["server_cert"]
    server_key: Path | None = _DEFAULTS["server_key"]
    state: Path | None = _DEFAULTS["state"]
    consumer: str | None = _DEFAULTS["consumer"]
    keystore: Path | None = _DEFAULTS["keystore"]
    keystore_password_file: Path | None = _DEFAULTS["keystore_password_file"]
    start: str = _DEFAULTS["start"]
    until: str | None = _DEFAULTS["until"]
    hold_seconds: float = _DEFAULTS["hold_seconds"]
    stopped: bool = _DEFAULTS["stopped"]
    assume_finished_after: float | None = _DEFAULTS["assume_finished_after"]
    settle_seconds: float | None = _DEFAULTS["settle_seconds"]
    on_error: OnError = _DEFAULTS["on_error"]
    odd_keys: OddKeys = _DEFAULTS["odd_keys"]
    quarantine_tables: tuple[str, ...] = _DEFAULTS["quarantine_tables"]
    accept_loss: bool = _DEFAULTS["accept_loss"]
    archive: str | None = _DEFAULTS["archive"]
    schema_changes: bool = _DEFAULTS["schema_changes"]
    table: str | None = _DEFAULTS["table"]
    on_schema_change: OnSchemaChange = _DEFAULTS["on_schema_change"]
    decimals: Decimals = _DEFAULTS["decimals"]
    meta_prefix: str = _DEFAULTS["meta_prefix"]
    case_sensitive: bool = _DEFAULTS["case_sensitive"]
    mask: tuple[str, ...] = _DEFAULTS["mask"]
    exclude: tuple[str, ...] = _DEFAULTS["exclude"]
    mask_key: Path | None = _DEFAULTS["mask_key"]
    masks_may_come: bool = _DEFAULTS["masks_may_come"]
    node_ca: Path | None = _DEFAULTS["node_ca"]
    node_cert: Path | None = _DEFAULTS["node_cert"]
    node_key: Path | None = _DEFAULTS["node_key"]
    token_file: Path | None = _DEFAULTS["token_file"]
    program: str = "cdc-tail"
    outlet: bool = False
    one_of_several: bool = False
    left: bool = False
    kept: bool = False
    peers: tuple[PeerPlace, ...] = ()

    def __post_init__(self) -> None:
        if self.table is not None:
            _check_typed(self, self.table)
        _check_masks(self)
        _check_extras(self)

    @property
    def selection(self) -> Selection:
        return Selection(self.tables if self.table is None else (self.table,), self.masks.tables)

    @property
    def masks(self) -> Masks:
        """What is asked for, without the key's fingerprint."""
        return masks_of(self.mask, self.exclude)

    def masks_and_key(self) -> tuple[Masks, MaskKey | None]:
        """The masks, and the key if there is one. Reads its file; UsageError."""
        key = None if self.mask_key is None else mask_key(self.mask_key)
        masks = self.masks
        return (masks if key is None or not masks.hashes else replace_struct(masks, key=key.fingerprint)), key

    @property
    def typed(self) -> TypedOptions:
        form = self.meta_prefix, self.decimals, self.on_schema_change, self.case_sensitive
        return TypedOptions(*form, more=self.extra_columns)

    @property
    def extra_columns(self) -> tuple[str, ...]:
        """What rows have behind all other columns; in a typed form with its prefix in front."""
        return extra_columns(with_origin=self.with_origin, with_primary=self.with_primary)

    @property
    def quarantine(self) -> bool:
        return self.on_error == "quarantine"

    @property
    def puts_values_aside(self) -> bool:
        """Whether entries may be put aside for what only decoding shows."""
        return self.quarantine or self.odd_keys == "quarantine"

    def keys(self) -> KeySource:
        """Where keys of encrypted segments come from. Reads the keystore; UsageError."""
        return key_source(self.keystore, self.keystore_password_file)

    def of_node(self, node: str, *, several: bool) -> TailOptions:
        """The same for one node; of several each has a state folder of its own in the one that was given."""
        state = self.state
        return replace(self, node=node, state=state / node if state is not None and several else state)

    def among(self, nodes: Sequence[tuple[str, LogPlace]], node: str) -> TailOptions:
        """The options of one of several nodes that are followed together: `of_node`, with all others as its peers."""
        several = len(nodes) > 1
        others = [(name, place, self.of_node(name, several=several).state) for name, place in nodes if name != node]
        return replace(self.of_node(node, several=several), peers=tuple(PeerPlace(*each) for each in others))

    def for_run(self, *, once: bool) -> TailOptions:
        """The same for one kind of run: one that does not wait settles sooner, unless the user said when."""
        return replace(self, settle_seconds=SETTLE_ONCE_SECONDS) if once and self.settle_seconds is None else self


_FIELDS: Final = frozenset(field.name for field in fields(TailOptions))


def tail_options(values: Mapping[str, Any], **more: Any) -> TailOptions:
    """The tail's options among others, by name. `more` is stronger."""
    return TailOptions(**({name: value for name, value in values.items() if name in _FIELDS} | more))


def _check_typed(options: TailOptions, table: str) -> None:
    if not _TABLE.fullmatch(table):
        raise UsageError(
            "the table of the typed form", expected="one keyspace.table, without * and ?", found=repr(table)
        )
    if options.tables and not any(fnmatchcase(table, pattern) for pattern in options.tables):
        raise UsageError(
            f"{table} is not among the tables that are selected",
            expected=", ".join(options.tables),
            found=table,
            remedy="The typed form is of exactly one table: leave the selection out.",
        )
    if options.schema_changes:
        raise UsageError(
            "schema changes have no typed form", remedy="Ask for them in a run of their own, without the typed table."
        )


def _check_masks(options: TailOptions) -> None:
    if not (options.mask or options.exclude):
        return
    masks = options.masks
    if masks.hashes and options.mask_key is None:
        raise UsageError(
            "--mask …=hash needs a key, or whoever guesses a value can check the guess",
            remedy="Give the file of one with --mask-key FILE (maskKey in Spark, mask_key in Python).",
        )
    if options.table is not None and options.table in masks.tables:
        raise UsageError(f"{options.table} is both the table of the typed form and left out with --exclude")


def _check_extras(options: TailOptions) -> None:
    given = [name for name in ORIGIN if getattr(options, name) is not None]
    if given and not options.with_origin:
        raise UsageError(
            f"{given[0]} is for rows that say where they come from",
            remedy="Ask for them with --with-origin (withOrigin in Spark, with_origin in Python), or leave it out.",
        )
    if (options.with_primary or options.replicas == "primary") and options.server is None:
        raise UsageError(
            "which replica a row's first one is only a server can tell",
            remedy="Name this log's own node: --server HOST (server in Spark and Python).",
        )


def of_node(options: TailOptions) -> TailOptions:
    """The options of its node alone: of `NODE=VALUE,NODE=VALUE` its own value. UsageError where there is none."""
    server, dc, rack = (_own(name, getattr(options, name), options.node) for name in ("server", "dc", "rack"))
    return replace(options, server=server, dc=dc, rack=rack)


def check_own_servers(options: TailOptions) -> None:
    """UsageError where several nodes share a server that is to tell where each of them stands.

    Definitions are the same whichever of them is asked.
    """
    asks = options.with_primary or options.replicas == "primary"
    asks = asks or (options.with_origin and None in (options.cluster, options.dc, options.rack))
    if asks and options.server is not None and "=" not in options.server:
        raise UsageError(
            "one server for several nodes tells where one of them stands",
            expected="server as NODE=HOST,NODE=HOST",
            found=repr(options.server),
            remedy="Name each node's own server by the node's name.",
        )


def _own(option: str, text: str | None, node: str) -> str | None:
    if text is None or "=" not in text:
        return text
    parts = [part.strip().partition("=") for part in text.split(",")]
    values = {name: value for name, _, value in parts if value}
    if node not in values:
        raise UsageError(option, expected=f"a value for node {node} too, as {node}=VALUE", found=repr(text))
    return values[node]
