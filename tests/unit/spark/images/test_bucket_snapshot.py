"""One bucket that a snapshot was read into: what it knows by it, and what is void from then on."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from tailer.images import Image
from tailer.rebuild import Table
from tailer.schema.model import Column
from tailer.schema.told import told_text
from tailer.snapshot.served_range import ReadRange, range_text
from tailer.spark.images.job import Earlier, Job, Node, raw
from tests.helpers.bucketed import Buckets
from tests.unit.images.told import SECOND, SHOWN_ID, change, definition, delete, insert, truncate, update

Change = dict[str, Any]
TABLE = Table.of(definition())
NOW = 2_000 * SECOND
UNTIL = 1_990 * SECOND
ALL = -(2**63), 2**63 - 1
PLACE = (1, 50)
places = itertools.count(100)


def logged(change: Change) -> Change:
    """Somewhere behind where the logs stood when the table was read."""
    offset = next(places)
    return {**change, "offset": offset, "event_id": f"{change['node']}:1:{offset}:0"}


def truncated() -> Change:
    return {**logged(truncate(UNTIL + 5, before=99)), "token": None}


def served(ts: int, x: int | None = 1, **more: Any) -> Change:
    extra = {name: more.pop(name) for name in ("ttl", "expires_at", "cells", "k") if name in more}
    return change("snapshot", ts, x, "a", columns=more, is_static=x is None, **extra)


def whole(nodes: str = "a", low: int = ALL[0], high: int = ALL[1], *, table: Table = TABLE, **more: Any) -> Change:
    """That all of a range was told."""
    how = {"complete": True, "nodes": tuple(nodes), "places": dict.fromkeys(nodes, PLACE), **more}
    told = ReadRange(low, high, UNTIL, **how)
    row = change("snapshot_range", 0, None, "a", token=None, partition_key=None)
    text = msgspec.json.encode(table.definition).decode()
    return {**row, "write_ts": None, "columns": text, "range": range_text(told), "event_id": "snapshot:i:0:9"}


def shown(images: list[Image]) -> list[tuple[str, str | None, bool]]:
    return [(image.op, image.after, image.complete) for image in images]


def test_rows_are_known_whole_and_those_that_were_not_told_are_not_there() -> None:
    told = Buckets([TABLE], "a")
    images = told.batch([served(5, v=1), served(7, 2, w=2), served(6, None, s=3), whole()], NOW)
    assert shown(images) == [
        ("upsert", '{"k":1,"s":3}', True),
        ("upsert", '{"k":1,"x":1,"v":1,"w":null}', True),
        ("upsert", '{"k":1,"x":2,"v":null,"w":2}', True),
    ]
    assert [image.event_id for image in images] == [f"snapshot:i:0:9/{images[0].token % 4}.{at}" for at in range(3)]  # type: ignore[operator]
    (image,) = told.batch([logged(insert(UNTIL + 1, k=2, v=1))], NOW)
    assert (image.op, image.complete) == ("insert", True)


def test_what_the_log_told_before_stays_where_it_is_newer_and_goes_where_it_is_older() -> None:
    told = Buckets([TABLE], "a")
    told.batch([logged(update(5, v=1)), logged(update(UNTIL + 5, w=1)), logged(update(6, 2, v=1))], NOW)
    images = told.batch([served(8, v=8), whole()], NOW)
    assert shown(images) == [
        ("update", '{"k":1,"x":1,"v":8,"w":1}', True),
        ("delete", None, True),
    ]


def test_what_is_older_and_comes_later_is_void() -> None:
    told = Buckets([TABLE], "ab")
    told.batch([served(8, v=8), whole("ab")], NOW)
    assert told.batch([logged(insert(5, 2, node="b", v=1)), logged(delete(UNTIL, node="b"))], NOW) == []
    (image,) = told.batch([logged(delete(UNTIL + 1))], NOW)
    assert shown([image]) == [("delete", None, True)]


def test_log_and_snapshot_in_one_batch_are_as_one_after_the_other() -> None:
    together, apart = Buckets([TABLE], "a"), Buckets([TABLE], "a")
    rows = [logged(update(UNTIL + 5, w=1)), logged(update(6, 2, v=1))]
    read = [served(8, v=8), whole()]
    apart.batch(rows, NOW)
    last = {image.clustering: image.after for image in apart.batch(read, NOW)}
    assert {image.clustering: image.after for image in together.batch([*read, *rows], NOW)} == last


def test_where_not_all_are_followed_or_one_has_come_since_rows_are_known_in_part() -> None:
    told = Buckets([TABLE], "a")
    assert shown(told.batch([served(8, v=8), whole(complete=False)], NOW)) == [("upsert", '{"k":1,"x":1,"v":8}', False)]
    joined = Buckets([TABLE], "a")
    joined.batch([logged(update(5, v=1))], NOW)
    joined.job = msgspec.structs.replace(joined.job, nodes={**joined.job.nodes, "b": Node({})})
    images = joined.batch([served(8, v=8), whole("a")], NOW)
    assert shown(images) == [("update", '{"k":1,"x":1,"v":8}', False)]
    # What was read later, with the new one followed, counts.
    assert shown(joined.batch([served(8, v=8), whole("ab")], NOW)) == []
    (image,) = joined.batch([logged(update(UNTIL + 1, w=1))], NOW)
    assert image.complete is False


def test_a_range_that_was_read_before_a_truncate_and_comes_behind_it_says_nothing() -> None:
    told = Buckets([TABLE], "a")
    told.batch([truncated(), logged(insert(UNTIL, v=1))], NOW)
    assert told.batch([served(8, v=8), served(8, 2, v=8), whole()], NOW) == []


def test_a_truncate_behind_it_takes_what_was_read() -> None:
    told = Buckets([TABLE], "a")
    told.batch([served(8, v=8), whole()], NOW)
    images = told.batch([truncated()], NOW)
    assert sorted(image.op for image in images) == ["delete", "truncate"]


def test_a_column_that_the_log_has_not_shown_yet_comes_with_the_rows() -> None:
    altered = Table.of(definition(*TABLE.definition.columns[2:], Column("z", "regular", "int")))
    told = Buckets([TABLE], "a")
    told.batch([logged(update(UNTIL + 5, w=1))], NOW)
    images = told.batch([served(8, z=1), whole(table=altered)], NOW)
    assert images[-1].after == '{"k":1,"x":1,"v":null,"w":1,"z":1}'


def without_w(**more: Any) -> Table:
    """The table behind ALTER TABLE … DROP w."""
    columns = [msgspec.structs.replace(each, **more) if each.name == "w" else each for each in TABLE.definition.columns]
    return Table.of(msgspec.structs.replace(TABLE.definition, columns=tuple(columns)))


@pytest.mark.parametrize("again", [False, True], ids=["dropped", "dropped and added again"])
@pytest.mark.parametrize("known", [False, True], ids=["met first", "known"])
def test_a_column_that_the_log_shows_dropped_later_stays_until_then(known: bool, again: bool) -> None:
    """Rows of before the DROP may come behind what a server has read since, where the log lags."""
    altered = without_w(dropped=not again, dropped_time=UNTIL - 5, added_time=UNTIL - 4 if again else None)
    job = Job({"a": Node({TABLE.definition.id: None})}, {TABLE.definition.id: raw(altered)}, earlier={
        TABLE.definition.id: [Earlier("a", (0, 0), raw(TABLE)), Earlier("a", (2, 0), raw(altered))]
    })  # fmt: skip
    told = Buckets([], "a", buckets=1)
    told.job = job
    if known:
        told.batch([logged(insert(5, 9, v=1, w=1))], NOW)
    told.batch([whole(low=0, high=9, table=altered)], NOW)
    images = told.batch([logged(insert(UNTIL - 9, v=1, w=1))], NOW)
    assert [image.after for image in images] == ['{"k":1,"x":1,"v":1,"w":1}']
    text = told_text(altered.definition, capture_begins=False)
    row = {**whole(table=altered), "op": "schema", "columns": text, "range": None, "event_id": "a:2:1:1000000"}
    images = told.batch([{**row, "segment": 2, "offset": 1}], NOW)
    assert [image.after for image in images if image.op == "update" and '"x":1,' in str(image.after)] == [
        '{"k":1,"x":1,"v":1}'
    ]


def test_ranges_side_by_side_are_one_floor() -> None:
    told = Buckets([TABLE], "a")
    told.batch([whole(low=-(2**63), high=0), whole(low=0, high=2**63 - 1)], NOW)
    size = sum(len(value) for maps in told.maps.values() for value in maps.about.kept.values())  # type: ignore[attr-defined]
    told.batch([whole(low=5, high=9)], NOW)
    assert size == sum(len(value) for maps in told.maps.values() for value in maps.about.kept.values())  # type: ignore[attr-defined]
    assert SHOWN_ID in {table for table, _ in told.maps}
