"""Every value of the recorded sets prints as the server printed it, but for the deviations that are meant.

Types come from the `system_schema` rows of the set itself, followed here in a few lines that share nothing with the
package's own follower.
"""

from __future__ import annotations

import json
import struct
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tailer.scan.key import join_partition_key, split_partition_key
from tailer.types import CqlType, Shape, murmur3_token, parse_type

NO_NUMBERS = ("NaN", "Infinity", "-Infinity")


class Number(str):
    """A number as it was spelled."""


def read(text: str) -> Any:
    return json.loads(text, parse_float=Number, parse_int=Number)


class Named(NamedTuple):
    name: str
    type: str


class Followed:
    """Column and field types as the lines read so far define them."""

    def __init__(self) -> None:
        self.columns: dict[tuple[str, str], dict[str, dict[str, Any]]] = defaultdict(dict)
        self.types: dict[str, dict[str, tuple[Named, ...]]] = defaultdict(dict)
        self.parsed: dict[tuple[str, str, str], CqlType] = {}

    def follow(self, update: dict[str, Any]) -> None:
        self.parsed.clear()
        keyspace = update["key"]["keyspace_name"]
        for row in update["unfiltereds"]:
            if row["kind"] != "row":
                continue
            cells = {cell["column"]: cell["value"] for cell in row["cells"] if not cell["tombstone"]}
            if update["table"] == "columns":
                table, column = row["clustering"]
                if "deletion" in row:
                    self.columns[keyspace, table].pop(column, None)
                if cells:
                    self.columns[keyspace, table].setdefault(column, {}).update(cells)
            elif update["table"] == "types" and cells:
                fields = zip(cells["field_names"], cells["field_types"], strict=True)
                self.types[keyspace][row["clustering"][0]] = tuple(Named(*field) for field in fields)

    def type(self, keyspace: str, table: str, column: str) -> CqlType:
        place = keyspace, table, column
        if place not in self.parsed:
            self.parsed[place] = parse_type(self.columns[keyspace, table][column]["type"], self.types[keyspace])
        return self.parsed[place]

    def of_kind(self, keyspace: str, table: str, kind: str) -> list[CqlType]:
        columns = self.columns[keyspace, table]
        chosen = sorted((int(found["position"]), name) for name, found in columns.items() if found["kind"] == kind)
        return [self.type(keyspace, table, name) for _, name in chosen]


class Check:
    """Compares and counts; `wrong` holds what differs."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._printed: dict[tuple[str, str], Any] = {}

    def value(self, type_: CqlType, found: str | None, expected: Any) -> None:
        if found is None:
            self.equal(None, expected, type_.text)
            return
        self.seen[type_.text] += 1
        # Most values come many times. A type without arguments is the same wherever its text stands.
        if not type_.arguments:
            if self._printed.get((type_.text, found), self) == expected:
                return
            self._printed[type_.text, found] = expected
        value = bytes.fromhex(found)
        text = type_.json(value)
        if not (same(type_, read(text), expected) or deviates(type_, value, text, expected)):
            self.wrong.append(f"{type_.text} {found}: {text} is not {expected}")
        self.equal(read(type_.key_json(value)), read(text) if text.startswith('"') else text, f"key of {found}")

    def equal(self, ours: Any, theirs: Any, what: str) -> None:
        if ours != theirs:
            self.wrong.append(f"{what}: {ours} is not {theirs}")


def same(type_: CqlType, ours: Any, theirs: Any) -> bool:
    """Equal, numbers by their text but floats by their bits; the server has no text for NaN."""
    if type_.kind in ("float", "double"):
        return same_float(type_, ours, theirs)
    if type(ours) is not type(theirs):
        return False
    if isinstance(ours, list):
        types = list(type_.elements if type_.kind == "tuple" else type_.arguments * len(ours))
        return len(ours) == len(theirs) and all(map(same, types, ours, theirs))
    if isinstance(ours, dict):
        if type_.kind == "map":
            keys = all(map(same_key, [type_.key] * len(ours), ours, theirs))
            types = [type_.value] * len(ours)
        else:
            keys = list(ours) == [bare(name) for name in theirs]
            types = [field for _, field in type_.fields]
        return len(ours) == len(theirs) and keys and all(map(same, types, ours.values(), theirs.values()))
    return bool(ours == theirs)


def same_key(type_: CqlType, ours: str, theirs: str) -> bool:
    if type_.kind in ("float", "double"):
        return same_float(type_, ours, None if theirs == "null" else Number(theirs))
    compact = read(ours) if ours[:1] in ("[", "{") else ours
    return compact == (read(theirs) if theirs[:1] in ("[", "{") else theirs)


def same_float(type_: CqlType, ours: Any, theirs: Any) -> bool:
    if theirs is None:
        return ours is None or ours in NO_NUMBERS
    if not isinstance(theirs, Number):
        return bool(ours == theirs)
    layout = ">f" if type_.kind == "float" else ">d"
    return struct.pack(layout, float(ours)) == struct.pack(layout, float(theirs))


def bare(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def deviates(type_: CqlType, value: bytes, text: str, theirs: Any) -> bool:
    """Whether this is one of the cases in which the text is meant to differ from the server's."""
    if isinstance(theirs, dict) and set(theirs) == {"hex", "error"}:
        if type_.kind == "tuple":
            return bool(read(text)[-1] is None)
        return text == ('""' if not value else f'"0x{value.hex()}"' if type_.kind == "custom" else None)
    if type_.kind == "duration" and theirs == "" and value:
        return text == '"0s"'
    if type_.kind == "timestamp" and value:
        # Before year 1 the server gives the year of the era, 1 before 0, and no sign.
        era, _, rest = theirs.lstrip("+").partition("-")
        year = 1 - int(era)
        return year <= 0 and read(text) == f"{'-' if year < 0 else ''}{-year:04d}-{rest}"
    return type_.kind == "time" and not value and theirs == "null" and text == '""'


def lines_of(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted((folder / "expected").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").split("\n"):
            if line:
                yield read(line)


def check_cell(check: Check, type_: CqlType, cell: dict[str, Any]) -> None:
    if type_.complex:
        path = bytes.fromhex(cell["path"])
        if type_.shape is Shape.UDT:
            name, type_ = type_.fields[int.from_bytes(path, "big")]
            check.equal(name, bare(cell["path_json"]), "field")
        elif type_.shape is Shape.LIST:
            check.value(parse_type("timeuuid", {}), cell["path"], cell["path_json"])
            type_ = type_.element
        else:
            check.value(type_.arguments[0], cell["path"], cell["path_json"])
            type_ = type_.arguments[-1]
            if not cell["hex"] and cell["value"] == "":
                return  # a set's element is all in the path
    if cell["tombstone"]:
        return
    if type_.shape is Shape.COUNTER:
        check.seen["counter"] += 1
        shards = json.loads(type_.json(bytes.fromhex(cell["hex"])))
        check.equal(sum(shard["total"] for shard in shards), int(cell["value"]), "counter")
        check.equal({shard["kind"] for shard in shards}, {"global"}, "shard kind")
        return
    check.value(type_, cell["hex"], cell["value"])


def check_update(check: Check, followed: Followed, update: dict[str, Any]) -> None:
    keyspace, table, key = update["keyspace"], update["table"], bytes.fromhex(update["key_hex"])
    types = followed.of_kind(keyspace, table, "partition_key")
    values = split_partition_key(key, len(types))
    check.equal(join_partition_key(values), key, "joined key")
    check.equal(murmur3_token(key), int(update["token"]), "token")
    for type_, value, expected in zip(types, values, update["key"].values(), strict=True):
        check.value(type_, value.hex(), expected)
    types = followed.of_kind(keyspace, table, "clustering")
    for row in [update[name] for name in ("static",) if name in update] + update["unfiltereds"]:
        texts = row.get("clustering_hex", [])
        for type_, found, expected in zip(types, texts, row.get("clustering", []), strict=False):
            check.value(type_, found, expected)
        for cell in row.get("cells", []):
            check_cell(check, followed.type(keyspace, table, cell["column"]), cell)


def check_set(check: Check, folder: Path) -> None:
    followed = Followed()
    # The system's own tables are written before the rows that define them.
    lines = list(lines_of(folder))
    for line in lines:
        for update in line["updates"]:
            if update["keyspace"] == "system_schema" and update["key"]["keyspace_name"] == "system_schema":
                followed.follow(update)
    for line in lines:
        for update in line["updates"]:
            if update["keyspace"] == "system_schema":
                followed.follow(update)
        for update in line["updates"]:
            check_update(check, followed, update)


@pytest.mark.slow
def test_every_recorded_value_prints_as_the_server_printed_it(sets_root: Path) -> None:
    check = Check()
    folders = [folder for folder in sorted(sets_root.iterdir()) if (folder / "expected").is_dir()]
    assert folders
    for folder in folders:
        check_set(check, folder)
    assert not check.wrong, f"{len(check.wrong)} differ: " + "\n".join(check.wrong[:40])
    natives = (
        "ascii bigint blob boolean counter date decimal double duration float inet int smallint text time timestamp"
    )
    for text in [*natives.split(), "timeuuid", "tinyint", "uuid", "varint"]:
        assert check.seen[text], f"no value of type {text} was compared"
    assert sum(check.seen.values()) > 100_000
