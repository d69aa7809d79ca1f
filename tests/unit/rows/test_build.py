"""The worked examples of format page 11 as change rows, every byte of them."""

from __future__ import annotations

from tests.unit.rows.tables import OFFSET, SEGMENT, printed
from tests.unit.scan.mutations import FIRST, SECOND

_HEAD = '{"node":"local","keyspace":"ks","table":"t","table_id":"11111111-2222-11ee-8888-0123456789ab",'
T = 1700000000000000


def tail(offset: int, row: int) -> str:
    return (
        f'"token":-4069959284402364209,"segment":{SEGMENT},"offset":{offset},"row":{row},'
        f'"event_id":"local:{SEGMENT}:{offset}:{row}","txn":null,"attrs":null}}'
    )


def test_first_example() -> None:
    assert printed(FIRST) == [
        _HEAD + '"op":"insert","partition_key":{"pk":1},"clustering":{"ck":"a"},"is_static":false,"columns":{"v":42},'
        f'"range":null,"write_ts":{T},"ttl":null,"expires_at":null,"cells":null,' + tail(OFFSET, 0)
    ]


def test_second_example() -> None:
    offset = OFFSET + len(FIRST) + 12
    static, row, tombstone, ranged = printed(FIRST, SECOND)[1:]
    assert static == (
        _HEAD + '"op":"update","partition_key":{"pk":1},"clustering":null,"is_static":true,"columns":{"s":"hi"},'
        f'"range":null,"write_ts":{T},"ttl":null,"expires_at":null,"cells":null,' + tail(offset, 0)
    )
    assert row == (
        _HEAD + '"op":"insert","partition_key":{"pk":1},"clustering":{"ck":"a"},"is_static":false,'
        '"columns":{"v":7,"m":{"replaced":true,"put":{"k":9}}},'
        f'"range":null,"write_ts":{T},"ttl":3600,"expires_at":1700003600,"cells":null,' + tail(offset, 1)
    )
    assert tombstone == (
        _HEAD + '"op":"update","partition_key":{"pk":1},"clustering":{"ck":"b"},"is_static":false,'
        '"columns":{"v":null},'
        f'"range":null,"write_ts":{T},"ttl":null,"expires_at":null,"cells":null,' + tail(offset, 2)
    )
    assert ranged == (
        _HEAD + '"op":"delete_range","partition_key":{"pk":1},"clustering":null,"is_static":false,"columns":null,'
        '"range":{"start":{"ck":"c"},"start_inclusive":false,"end":{"ck":"e"},"end_inclusive":true},'
        f'"write_ts":{T},"ttl":null,"expires_at":null,"cells":null,' + tail(offset, 3)
    )


def test_two_reads_give_the_same_bytes() -> None:
    assert printed(FIRST, SECOND) == printed(FIRST, SECOND)
