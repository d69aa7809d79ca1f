"""What one row sets: the `columns` and `cells` of a change row, and the row's own times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.oracle.cqltypes import Type
from tests.oracle.jsontext import Json, Pairs
from tests.oracle.schema import Definition
from tests.oracle.values import ABSENT, key_text, value

Cell = Mapping[str, Any]


class Stamp(NamedTuple):
    """`write_ts`, `ttl` and `expires_at`."""

    ts: int
    ttl: int | None = None
    expires: int | None = None


def cell_stamp(cell: Cell) -> Stamp:
    return Stamp(cell["ts"], cell["ttl"], cell["ldt"]) if cell["ttl"] and not cell["tombstone"] else Stamp(cell["ts"])


def row_stamp(row: Mapping[str, Any], definition: Definition) -> Stamp:
    """Of the liveness; else of the newest data cell; else the newest tombstone or complex deletion."""
    if "liveness" in row:
        liveness = row["liveness"]
        return Stamp(liveness["ts"], liveness["ttl"], liveness["ldt"]) if liveness["ttl"] else Stamp(liveness["ts"])
    data = [cell for cell in row["cells"] if not cell["tombstone"]]
    if data:
        return cell_stamp(max(data, key=lambda cell: int(cell["ts"])))
    deletions = [cell["ts"] for cell in row["cells"]] + [gone["ts"] for gone in row["complex_deletions"].values()]
    return Stamp(max(deletions))


def columns_and_cells(row: Mapping[str, Any], definition: Definition, stamp: Stamp) -> tuple[Json, Json]:
    """`columns` and `cells`, in column-list order; `cells` is None when nothing differs from the row."""
    columns: dict[str, Json] = {}
    cells: dict[str, Json] = {}
    for name in _names(row, definition):
        kind = definition.column(name)
        assert kind is not None
        mine = [cell for cell in row["cells"] if cell["column"] == name]
        if kind.complex:
            columns[name], differs = _complex(kind, mine, row["complex_deletions"].get(name), stamp)
        else:
            (cell,) = mine
            columns[name], differs = _simple(kind, cell), _difference(cell, stamp)
        if differs:
            cells[name] = differs
    return columns, cells or None


def _names(row: Mapping[str, Any], definition: Definition) -> list[str]:
    """The row's columns in list order; the order of the cells in the line must agree."""
    with_cells = list(dict.fromkeys(cell["column"] for cell in row["cells"]))
    names = sorted({*with_cells, *row["complex_deletions"]}, key=lambda name: _list_order(name, definition))
    if [name for name in names if name in with_cells] != with_cells:
        raise ValueError(f"cells stand as {with_cells}, the list would be {names}")
    return names


def _list_order(name: str, definition: Definition) -> tuple[bool, int, bytes]:
    """Simple before complex, then by name: a 48-bit prefix whose top bit is flipped, then unsigned bytes."""
    kind = definition.column(name)
    assert kind is not None
    raw = name.encode()
    return kind.complex, int.from_bytes(raw[:6].ljust(6, b"\0"), "big") ^ 1 << 47, raw


def _difference(cell: Cell, stamp: Stamp) -> dict[str, Json]:
    """Those of the three times that are not the row's; of a tombstone only the first is compared."""
    names = ("write_ts",) if cell["tombstone"] else ("write_ts", "ttl", "expires_at")
    pairs = zip(names, cell_stamp(cell), stamp, strict=False)
    return {name: mine for name, mine, rows in pairs if mine != rows}


def _simple(kind: Type, cell: Cell) -> Json:
    if cell["tombstone"]:
        return None
    raw = bytes.fromhex(cell["hex"])
    return shards(raw) if kind.name == "counter" else value(kind, cell["value"], raw)


def _complex(kind: Type, cells: list[Cell], deletion: Mapping[str, int] | None, stamp: Stamp) -> tuple[Json, Json]:
    if not cells:
        assert deletion is not None
        return None, {} if deletion["ts"] == stamp.ts else {"deleted_ts": deletion["ts"]}
    shown: dict[str, Json] = {"replaced": deletion is not None}
    differs: dict[str, Json] = {}
    keyed = [(_element_key(kind, cell), cell) for cell in cells]
    put = [(key, cell) for key, cell in keyed if not cell["tombstone"]]
    removed = [key for key, cell in keyed if cell["tombstone"]]
    if put:
        shown["put"] = _put(kind, put)
    if removed:
        shown["removed"] = removed
    if deletion is not None and deletion["ts"] != stamp.ts - 1:
        differs["deleted_ts"] = deletion["ts"]
    elements = [[key, difference] for key, cell in keyed if (difference := _difference(cell, stamp))]
    if elements:
        differs["elements"] = elements
    return shown, differs


def _put(kind: Type, put: list[tuple[Json, Cell]]) -> Json:
    if kind.name == "set":
        return [key for key, _ in put]
    made = [(key, _element(kind, cell)) for key, cell in put]
    return [list(pair) for pair in made] if kind.name == "list" else Pairs(made)


def _element(kind: Type, cell: Cell) -> Json:
    inner = kind.args[int(cell["path"], 16)] if kind.name == "udt" else kind.args[-1]
    return value(inner, cell["value"], bytes.fromhex(cell["hex"]))


def _element_key(kind: Type, cell: Cell) -> Json:
    raw = bytes.fromhex(cell["path"])
    if kind.name == "udt":
        return kind.fields[int.from_bytes(raw, "big")]
    if kind.name == "map":
        return key_text(kind.args[0], cell["path_json"], raw)
    if kind.name == "set":
        return value(kind.args[0], cell.get("path_json", ABSENT), raw)
    return cell["path_json"]


def shards(context: bytes) -> Json:
    """A counter context: what each shard of it says (format page 5.10)."""
    size = int.from_bytes(context[:2], "big", signed=True)
    kinds = {}
    for at in range(2, 2 + 2 * abs(size), 2):
        element = int.from_bytes(context[at : at + 2], "big", signed=True)
        kinds[element + 32768 if element < 0 else element] = "global" if element < 0 else "local"
    made = []
    for number, at in enumerate(range(2 + 2 * abs(size), len(context), 32)):
        identity = context[at : at + 16].hex()
        made.append(
            {
                "shard": "-".join(identity[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))),
                "kind": kinds.get(number, "remote"),
                "clock": int.from_bytes(context[at + 16 : at + 24], "big", signed=True),
                "total": int.from_bytes(context[at + 24 : at + 32], "big", signed=True),
            }
        )
    return made
