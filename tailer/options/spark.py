"""The data source's options: names, values and what they mean (architecture section 7). Parses words, opens nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, get_args

import msgspec

from tailer.errors import UsageError
from tailer.limits import MIB, SETTLE_ONCE_SECONDS
from tailer.options.amounts import size_of
from tailer.options.names import check_name
from tailer.options.tail import OnError, TailOptions
from tailer.position import Position
from tailer.schema.typed import Decimals, OnSchemaChange
from tailer.segments.folder import check_folder

PROGRAM: Final = "cdc_tail"
PARTITIONS_MAX: Final = 10_000
CARRIED_BYTES: Final = 64 * MIB
"""Log in one micro-batch where the driver carries it and no other limit was given."""

NAMES: Final = (
    "path",
    "node",
    "tables",
    "table",
    "decimals",
    "metaPrefix",
    "spark.sql.caseSensitive",
    "onSchemaChange",
    "schemaFile",
    "server",
    "stateDir",
    "consumer",
    "startingOffsets",
    "endingOffsets",
    "maxBytesPerTrigger",
    "minPartitions",
    "failOnDataLoss",
    "onError",
    "readOn",
    "waitMillis",
    "tickSeconds",
    "includeSchemaChanges",
    "stopped",
    "assumeFinishedAfter",
    "keystore",
)
"""The valid options, spelled as users see them; Spark does not keep their case."""

_NODE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_WORDS: Final = ("earliest", "latest")
_PREFIX: Final = re.compile(r"\w{1,40}")


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What one `load` asks for. `folders`: node and log folder, in the order of the nodes' names.

    `tail` is for every node but for what `of` sets. `max_bytes`: bytes of log for one micro-batch, None = no limit.
    `min_partitions`: into how many pieces a batch is cut at least, as far as sections allow. `on_driver`: the driver
    reads the files. `wait_seconds`: how long one look waits for new data; `tick_seconds`: 0 = never.
    """

    folders: tuple[tuple[str, Path], ...]
    tail: TailOptions
    max_bytes: int | None
    min_partitions: int
    on_driver: bool
    wait_seconds: float
    tick_seconds: float
    ending: str

    @property
    def tables(self) -> tuple[str, ...]:
        """What rows are of: a typed form is of one table."""
        return self.tail.selection.tables

    @property
    def batch_bytes(self) -> int | None:
        """Bytes of log for one micro-batch. What the driver carries must have a bound."""
        return self.max_bytes or (CARRIED_BYTES if self.on_driver else None)

    def present(self) -> list[tuple[str, Path]]:
        """The nodes whose folder is there. Of several nodes some may come later; UsageError if none is there."""
        there = [(name, folder) for name, folder in self.folders if folder.is_dir()]
        if not there:
            check_folder(self.folders[0][1])
        return there

    def of(self, node: str, *, once: bool) -> TailOptions:
        """The options of one node's tail; with several nodes, each has a state folder of its own.

        `once`: for a run that does not wait.
        """
        state = self.tail.state
        if state is not None and len(self.folders) > 1:
            state = state / node
        settle = SETTLE_ONCE_SECONDS if once else None
        return replace(self.tail, node=node, state=state, settle_seconds=settle)


def parse_options(given: Mapping[str, str]) -> SourceOptions:
    """The options of `load`. UsageError for an unknown name or value; the error lists the valid ones."""
    values = _by_name(given)
    tail = TailOptions(
        tables=_tables(values.get("tables", "")),
        table=values.get("table") or None,
        decimals=_choice(values, "decimals", get_args(Decimals), "decimal"),
        meta_prefix=_prefix(values),
        case_sensitive=_boolean(values, "spark.sql.caseSensitive", False),
        on_schema_change=_choice(values, "onSchemaChange", get_args(OnSchemaChange), "fail"),
        schema_file=_path(values, "schemaFile"),
        server=values.get("server"),
        state=_path(values, "stateDir"),
        consumer=check_name(values.get("consumer", "spark")),
        keystore=_path(values, "keystore"),
        start=_offsets(values, "startingOffsets", "earliest"),
        stopped=_boolean(values, "stopped", False),
        assume_finished_after=_number(values, "assumeFinishedAfter", None),
        on_error=_choice(values, "onError", get_args(OnError), "stop"),
        accept_loss=not _boolean(values, "failOnDataLoss", True),
        schema_changes=_boolean(values, "includeSchemaChanges", False),
        program=PROGRAM,
    )
    return SourceOptions(
        folders=_folders(values),
        tail=tail,
        max_bytes=_bytes(values, "maxBytesPerTrigger"),
        min_partitions=_count(values, "minPartitions"),
        on_driver=_choice(values, "readOn", ("executors", "driver"), "executors") == "driver",
        wait_seconds=(_number(values, "waitMillis", 500.0) or 0.0) / 1000,
        tick_seconds=_number(values, "tickSeconds", 40.0) or 0.0,
        ending=_offsets(values, "endingOffsets", "latest"),
    )


def _by_name(given: Mapping[str, str]) -> dict[str, str]:
    known = {name.lower(): name for name in NAMES}
    values: dict[str, str] = {}
    for name, value in given.items():
        spelled = known.get(name.lower())
        if spelled is None:
            raise UsageError(f"unknown option {name!r}", remedy=f"There are: {', '.join(NAMES)}.")
        values[spelled] = value.strip()
    return values


def _folders(values: Mapping[str, str]) -> tuple[tuple[str, Path], ...]:
    text = values.get("path", "")
    if not text:
        raise UsageError(
            "no log folder", remedy="Give the server's cdc_raw_directory: .load('/var/lib/cassandra/cdc_raw')."
        )
    named = [part.strip().partition("=") for part in text.split(",")]
    if not all(equals and _NODE.fullmatch(node) and folder for node, equals, folder in named):
        return ((_node(values.get("node", "local")), _folder(text)),)
    if "node" in values:
        raise UsageError("both `node` and node names in `path`", remedy="Name the node in one place.")
    folders = {node: _folder(folder) for node, _, folder in named}
    if len(folders) < len(named):
        raise UsageError(
            "two folders for one node", found=repr(text), remedy="Write NODE=DIR,NODE=DIR, each node once."
        )
    return tuple(sorted(folders.items()))


def _folder(text: str) -> Path:
    # Absolute: executors may run elsewhere than the driver.
    return Path(text.removeprefix("file://") if text.startswith("file:///") else text).absolute()


def _node(text: str) -> str:
    if not _NODE.fullmatch(text):
        raise UsageError("node", expected="letters, digits, '.', '_' and '-'", found=repr(text))
    return text


def _path(values: Mapping[str, str], name: str) -> Path | None:
    text = values.get(name)
    return _folder(text) if text else None


def _tables(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip()))


def _choice(values: Mapping[str, str], name: str, valid: tuple[str, ...], default: str) -> Any:
    value = values.get(name, default).lower()
    if value not in valid:
        raise UsageError(f"option {name}", expected=" or ".join(valid), found=repr(values[name]))
    return value


def _boolean(values: Mapping[str, str], name: str, default: bool) -> bool:
    chosen: str = _choice(values, name, ("true", "false"), str(default).lower())
    return chosen == "true"


def _number(values: Mapping[str, str], name: str, default: float | None) -> float | None:
    text = values.get(name)
    if text is None:
        return default
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e9:
        raise UsageError(f"option {name}", expected="a number, 0 or more", found=repr(text))
    return number


def _count(values: Mapping[str, str], name: str) -> int:
    text = values.get(name, "1")
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= PARTITIONS_MAX:
        raise UsageError(f"option {name}", expected=f"a whole number, 1 to {PARTITIONS_MAX}", found=repr(text))
    return int(text)


def _prefix(values: Mapping[str, str]) -> str:
    text = values.get("metaPrefix", "_")
    if not _PREFIX.fullmatch(text):
        raise UsageError("option metaPrefix", expected="letters, digits and '_', 1 to 40 of them", found=repr(text))
    return text


def _bytes(values: Mapping[str, str], name: str) -> int | None:
    text = values.get(name)
    if text is None:
        return None
    size = size_of(text)
    if not size:
        raise UsageError(f"option {name}", expected="a number of bytes, such as 67108864 or 64m", found=repr(text))
    return size


def _offsets(values: Mapping[str, str], name: str, default: str) -> str:
    text = values.get(name, default)
    if text.lower() in _WORDS:
        return text.lower()
    if Position.parse(text) is not None or (text.startswith("{") and _is_json(text)):
        return text
    raise UsageError(f"option {name}", expected="earliest, latest, or an offset's JSON", found=repr(text[:200]))


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True
