"""Changes of non-frozen collections and UDTs: `columns` and `cells` (architecture section 4)."""

from __future__ import annotations

import json

from tailer.schema.model import Column, TableDefinition, TypeField
from tests.unit.rows.tables import printed, table
from tests.unit.scan.mutations import T, cell, ck, counted, deletion, mutation, update, vint

INT = b"\0\0\0\x07"
ID = bytes.fromhex("f0a486e0e59811f1b2e1ffa779bf4c1f")
UUID = "f0a486e0-e598-11f1-b2e1-ffa779bf4c1f"


def changed(definition: TableDefinition, content: bytes, *, deleted: bool = False) -> tuple[str, str]:
    """`columns` and `cells` of an INSERT at T + 5 with that one column's content."""
    flags = b"\x64" if deleted else b"\x24"
    name = definition.columns[2].name
    (line,) = printed(mutation(update(flags + ck(b"a") + b"\x05" + content, columns=[name])), definition=definition)
    row = json.loads(line)
    return tuple(json.dumps(row[name], separators=(",", ":")) for name in ("columns", "cells"))  # type: ignore[return-value]


MAP = table(Column("m", "regular", "map<int, text>"))
SET = table(Column("s", "regular", "set<int>"))
LIST = table(Column("l", "regular", "list<text>"))
UDT = table(Column("u", "regular", "addr"), types={"addr": (TypeField("street", "text"), TypeField("Number", "int"))})


def put(path: bytes, value: bytes | None = None, flags: int = 0x08, *times: bytes) -> bytes:
    tail = b"" if value is None else counted(value)
    return cell(flags | (0x04 if value is None else 0), *times, counted(path), tail)


def removed(path: bytes, *times: bytes) -> bytes:
    return cell(0x0D if len(times) == 1 else 0x05, *times, counted(path))


def test_a_map_that_is_overwritten() -> None:
    content = deletion(4) + vint(2) + put(INT, b"x") + put(b"\0\0\0\x08", b"y")
    assert changed(MAP, content, deleted=True) == ('{"m":{"replaced":true,"put":{"7":"x","8":"y"}}}', "null")


def test_a_map_with_elements_put_and_removed() -> None:
    content = vint(2) + put(INT, b"x") + removed(b"\0\0\0\x08", vint(0))
    assert changed(MAP, content) == ('{"m":{"replaced":false,"put":{"7":"x"},"removed":["8"]}}', "null")


def test_an_overwrite_with_removed_elements_only() -> None:
    content = deletion(4) + vint(1) + removed(INT, vint(0))
    assert changed(MAP, content, deleted=True) == ('{"m":{"replaced":true,"removed":["7"]}}', "null")


def test_a_column_that_is_deleted_whole() -> None:
    assert changed(MAP, deletion(5) + vint(0), deleted=True) == ('{"m":null}', "null")
    assert changed(MAP, deletion(4) + vint(0), deleted=True) == ('{"m":null}', f'{{"m":{{"deleted_ts":{T + 4}}}}}')


def test_an_overwrite_whose_deletion_is_not_one_before_the_row() -> None:
    content = deletion(5) + vint(1) + put(INT, b"x")
    assert changed(MAP, content, deleted=True)[1] == f'{{"m":{{"deleted_ts":{T + 5}}}}}'


def test_elements_that_differ_from_the_row() -> None:
    content = (
        deletion(3)
        + vint(4)
        + put(b"\0\0\0\x01", b"x", 0x00, vint(6))
        + put(b"\0\0\0\x02", b"x", 0x0A, vint(9), vint(8))
        + put(b"\0\0\0\x03", b"x")
        + removed(b"\0\0\0\x04", vint(1), vint(0))
    )
    assert changed(MAP, content, deleted=True)[1] == (
        f'{{"m":{{"deleted_ts":{T + 3},"elements":'
        f'[["1",{{"write_ts":{T + 6}}}],["2",{{"ttl":8,"expires_at":1700000009}}],["4",{{"write_ts":{T + 1}}}]]}}}}'
    )


def test_a_set() -> None:
    content = vint(2) + put(INT) + removed(b"\0\0\0\x08", vint(2), vint(0))
    assert changed(SET, content) == (
        '{"s":{"replaced":false,"put":[7],"removed":[8]}}',
        f'{{"s":{{"elements":[[8,{{"write_ts":{T + 2}}}]]}}}}',
    )


def test_a_list_by_its_ids() -> None:
    other = ID[:15] + b"\x20"
    content = vint(2) + put(ID, b"x") + removed(other, vint(0))
    assert changed(LIST, content) == (
        f'{{"l":{{"replaced":false,"put":[["{UUID}","x"]],"removed":["{UUID[:-2]}20"]}}}}',
        "null",
    )


def test_a_user_type_by_its_field_names() -> None:
    content = vint(2) + put(b"\0\0", b"x") + put(b"\0\x01", INT, 0x00, vint(9))
    assert changed(UDT, content) == (
        '{"u":{"replaced":false,"put":{"street":"x","Number":7}}}',
        f'{{"u":{{"elements":[["Number",{{"write_ts":{T + 9}}}]]}}}}',
    )
    assert changed(UDT, vint(1) + removed(b"\0\x01", vint(0)))[0] == '{"u":{"replaced":false,"removed":["Number"]}}'


def test_an_update_of_elements_takes_its_times_from_them() -> None:
    content = vint(2) + put(INT, b"x", 0x00, vint(6)) + removed(b"\0\0\0\x08", vint(9), vint(0))
    (line,) = printed(mutation(update(b"\x20" + ck(b"a") + content, columns=["m"])), definition=MAP)
    row = json.loads(line)
    assert (row["op"], row["write_ts"]) == ("update", T + 6)
    assert row["cells"] == {"m": {"elements": [["8", {"write_ts": T + 9}]]}}


def test_a_complex_deletion_alone_gives_the_times() -> None:
    (line,) = printed(mutation(update(b"\x60" + ck(b"a") + deletion(3) + vint(0), columns=["m"])), definition=MAP)
    row = json.loads(line)
    assert (row["op"], row["write_ts"], row["columns"], row["cells"]) == ("update", T + 3, {"m": None}, None)
