"""Which rows a mutation gives, in which order, and what they have of the row's own times (architecture section 4)."""

from __future__ import annotations

import pytest

from tailer.schema.model import Column
from tests.unit.rows.tables import KEYS, printed, table, told
from tests.unit.scan.mutations import NOW, T, cell, ck, counted, deletion, marker, mutation, update, vint

V, W = Column("v", "regular", "int"), Column("w", "regular", "text")
TWO = table(V, W)
INT = b"\0\0\0\x07"
LIVENESS = b"\x24" + ck(b"a") + b"\x05"


def times(payload: bytes) -> str:
    (line,) = printed(payload, definition=TWO)
    return told(line, "write_ts", "ttl", "expires_at", "cells")


def test_deletions_stand_before_what_they_do_not_cover() -> None:
    both = b"\x34" + ck(b"a") + vint(5) + deletion(4) + cell(0x08, INT)
    lines = printed(mutation(update(both, columns=["v"], deletion=deletion(1))), definition=TWO)
    assert [told(line, "op", "row", "clustering", "columns", "write_ts") for line in lines] == [
        f'op="delete_partition", row=0, clustering=null, columns=null, write_ts={T + 1}',
        f'op="delete_row", row=1, clustering={{"ck":"a"}}, columns=null, write_ts={T + 4}',
        f'op="insert", row=2, clustering={{"ck":"a"}}, columns={{"v":7}}, write_ts={T + 5}',
    ]


def test_a_row_of_keys_only_sets_no_column() -> None:
    (line,) = printed(mutation(update(LIVENESS)))
    assert told(line, "op", "columns") == 'op="insert", columns={}'


def test_a_static_row_is_an_update_without_clustering() -> None:
    static = b"\xa0\x01" + cell(0x00, vint(3), counted(b"x"))
    (line,) = printed(mutation(update(statics=["s"], static_row=static)))
    assert told(line, "op", "is_static", "clustering", "columns") == (
        'op="update", is_static=true, clustering=null, columns={"s":"x"}'
    )


def test_ranges_stand_where_they_start() -> None:
    unfiltereds = (
        marker(7, [b"a"], deletion(1)),
        b"\x24" + ck(b"b") + b"\x09",
        marker(2, [b"c"], deletion(1), deletion(2)),
        b"\x24" + ck(b"d") + b"\x09",
        marker(6, [], deletion(2)),
    )
    lines = printed(mutation(update(*unfiltereds)))
    assert [told(line, "op", "row", "range", "write_ts") for line in lines] == [
        'op="delete_range", row=0, range={"start":{"ck":"a"},"start_inclusive":false,'
        f'"end":{{"ck":"c"}},"end_inclusive":false}}, write_ts={T + 1}',
        f'op="insert", row=1, range=null, write_ts={T + 9}',
        'op="delete_range", row=2, range={"start":{"ck":"c"},"start_inclusive":true,'
        f'"end":null,"end_inclusive":true}}, write_ts={T + 2}',
        f'op="insert", row=3, range=null, write_ts={T + 9}',
    ]


def test_an_open_side_is_null_and_inclusive() -> None:
    (line,) = printed(mutation(update(marker(7, [], deletion(1)), marker(0, [], deletion(1)))))
    assert told(line, "range") == 'range={"start":null,"start_inclusive":true,"end":null,"end_inclusive":true}'


def test_a_bound_is_a_prefix_of_the_clustering_columns() -> None:
    wide = table(Column("ck2", "clustering", "int", 1, desc=True))
    bounds = marker(1, [b"a"], deletion(1)), b"\x02\x00\x00\x02\x00\x01a" + INT + deletion(1)
    (line,) = printed(mutation(update(*bounds)), definition=wide)
    assert told(line, "range") == (
        'range={"start":{"ck":"a"},"start_inclusive":true,"end":{"ck":"a","ck2":7},"end_inclusive":false}'
    )


def test_null_and_empty_clustering_values() -> None:
    wide = table(Column("ck2", "clustering", "int", 1))
    (line,) = printed(mutation(update(b"\x24" + ck(None, b"") + b"\x00")), definition=wide)
    assert told(line, "clustering") == 'clustering={"ck":null,"ck2":""}'


def test_the_rows_times_are_those_of_its_liveness() -> None:
    assert times(mutation(update(LIVENESS + cell(0x08, INT) + cell(0x08, counted(b"x")), columns=["v", "w"]))) == (
        f"write_ts={T + 5}, ttl=null, expires_at=null, cells=null"
    )
    with_ttl = b"\x2c" + ck(b"a") + b"\x05" + vint(60) + vint(61)
    assert times(mutation(update(with_ttl + cell(0x1A, INT), columns=["v"]))) == (
        f"write_ts={T + 5}, ttl=60, expires_at={NOW + 61}, cells=null"
    )


def test_cells_tell_only_what_differs_from_the_row() -> None:
    row = b"\x24" + ck(b"a") + b"\x05" + cell(0x0A, vint(70), vint(10), INT) + cell(0x05, vint(1), vint(0))
    assert times(mutation(update(row, columns=["v", "w"]))) == (
        f"write_ts={T + 5}, ttl=null, expires_at=null, "
        f'cells={{"v":{{"ttl":10,"expires_at":{NOW + 70}}},"w":{{"write_ts":{T + 1}}}}}'
    )


def test_what_the_row_has_and_the_cell_has_not_is_null() -> None:
    row = b"\x2c" + ck(b"a") + b"\x05" + vint(60) + vint(61) + cell(0x08, INT) + cell(0x0D, vint(0))
    assert times(mutation(update(row, columns=["v", "w"]))) == (
        f'write_ts={T + 5}, ttl=60, expires_at={NOW + 61}, cells={{"v":{{"ttl":null,"expires_at":null}}}}'
    )


def plain(after: int, value: bytes) -> bytes:
    return cell(0x00, vint(after), value)


def expiring(after: int, value: bytes) -> bytes:
    return cell(0x02, vint(after), vint(9), vint(8), value)


def gone(after: int) -> bytes:
    return cell(0x05, vint(after), vint(0))


X = counted(b"x")
TIMES = {
    "tie, first plain": (plain(3, INT), expiring(3, X), 3, "ttl=null, expires_at=null"),
    "tie, first expiring": (expiring(3, INT), plain(3, X), 3, f"ttl=8, expires_at={NOW + 9}"),
    "newest": (plain(3, INT), expiring(4, X), 4, f"ttl=8, expires_at={NOW + 9}"),
    "tombstones do not count": (gone(9), plain(1, X), 1, "ttl=null, expires_at=null"),
    "only tombstones": (gone(2), gone(6), 6, "ttl=null, expires_at=null"),
}


@pytest.mark.parametrize(("first", "second", "after", "rest"), TIMES.values(), ids=TIMES)
def test_without_liveness_the_newest_value_gives_the_times(first: bytes, second: bytes, after: int, rest: str) -> None:
    text = times(mutation(update(b"\x20" + ck(b"a") + first + second, columns=["v", "w"])))
    assert text.startswith(f"write_ts={T + after}, {rest}, ")


def test_a_partition_key_of_two_columns() -> None:
    definition = table()
    two = (Column("b", "partition_key", "text", 1), Column("a", "partition_key", "int", 0), KEYS[1])
    key = b"\x00\x04" + INT + b"\x00" + b"\x00\x02hi\x00"
    (line,) = printed(mutation(update(LIVENESS, key=key)), definition=type(definition)(definition.id, "ks", "t", two))
    assert told(line, "partition_key") == 'partition_key={"a":7,"b":"hi"}'


def test_a_table_without_clustering_has_none() -> None:
    definition = table()
    alone = type(definition)(definition.id, "ks", "t", (KEYS[0], V))
    (line,) = printed(mutation(update(b"\x24\x00" + cell(0x08, INT), columns=["v"])), definition=alone)
    assert told(line, "clustering", "columns") == 'clustering=null, columns={"v":7}'


def test_names_are_escaped_as_the_server_escapes() -> None:
    odd = Column('a"\\\x1fé', "regular", "int")
    (line,) = printed(mutation(update(LIVENESS + cell(0x08, INT), columns=[odd.name])), definition=table(odd))
    assert '"columns":{"a\\"\\\\\\u001Fé":7}' in line


def test_a_counter_is_its_shards() -> None:
    counter = Column("c", "regular", "counter")
    shard = bytes(range(16)) + (3).to_bytes(8, "big") + (-5).to_bytes(8, "big", signed=True)
    row = b"\x20" + ck(b"a") + cell(0x00, vint(0), counted(b"\0\x01\x80\0" + shard))
    (line,) = printed(mutation(update(row, columns=["c"])), definition=table(counter))
    assert told(line, "columns") == (
        'columns={"c":[{"shard":"00010203-0405-0607-0809-0a0b0c0d0e0f","kind":"global","clock":3,"total":-5}]}'
    )
