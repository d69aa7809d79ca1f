"""Histories that broke other ways of making images, each by hand with what must come of it."""

from __future__ import annotations

import copy
import json
from typing import Any

from tests.helpers.images.checked import Checked
from tests.helpers.images.merged import Merged
from tests.helpers.images.partitions import Range
from tests.helpers.images.parts import Add, Delete, Set
from tests.helpers.images.story import GC
from tests.helpers.images.tables import COUNTED, FLAT, STATIC, WIDE, ModelTable

ROW = (1, 1)
A_WEEK = 7 * 86_400


def story(table: ModelTable = WIDE, *, replicas: int = 2, whole: bool = True, **how: Any) -> Checked:
    return Checked(table, Merged, replicas=replicas, whole=whole, **how)


def told(images: list[Any]) -> list[tuple[str, Any, Any]]:
    """Op, and `a` before and after (None for a row that is not there, "-" for what is not known)."""
    return [(image.op, _a(image.before), _a(image.after)) for image in images]


def _a(text: str | None) -> Any:
    return None if text is None else json.loads(text).get("a", "-")


# --- one entry that deletes and inserts ---


def test_an_entry_that_deletes_and_inserts_a_row_gives_one_image() -> None:
    it = story()
    it.write([Set(ROW, {"a": 1, "b": "old"}, 1, insert=True)])
    it.write([Delete(ROW, 4), Set(ROW, {"a": 2}, 5, insert=True)])
    it.read_all()
    assert told(it.images) == [("insert", None, 1), ("update", 1, 2)]
    assert json.loads(it.images[1].after)["b"] is None
    assert set(it.images[1].changed) == {"a", "b"}


def test_at_one_time_the_deletion_wins() -> None:
    """A batch without timestamps of its own gives both the same one."""
    it = story()
    it.write([Set(ROW, {"a": 1}, 1, insert=True)])
    it.write([Delete(ROW, 5), Set(ROW, {"a": 2}, 5, insert=True)])
    it.read_all()
    assert told(it.images) == [("insert", None, 1), ("delete", 1, None)]


def test_a_partition_is_deleted_and_filled_again_in_one_entry() -> None:
    it = story()
    it.write([Set((1, 1), {"a": 1}, 1, insert=True), Set((1, 2), {"a": 1}, 1, insert=True), Set(STATIC, {"s": 1}, 1)])
    it.write([Delete(None, 4), Set((1, 2), {"a": 2}, 5, insert=True)], on=(0, 1))
    it.read_all()
    images = {(image.is_static, image.clustering, image.op) for image in it.images[3:]}
    assert images == {(True, None, "delete"), (False, '{"x":1,"y":2}', "update"), (False, '{"x":1,"y":1}', "delete")}
    assert len(it.images) == 6
    it.check_select()


def test_both_halves_come_by_single_copies_in_the_wrong_order() -> None:
    """A hint has the insert alone, and is read before the entry that has both."""
    it = story()
    it.write([Set(ROW, {"a": 1}, 1, insert=True)], on=(0, 1))
    it.write([Set(ROW, {"a": 2}, 5, insert=True)], on=(1,))
    it.write([Delete(ROW, 4), Set(ROW, {"a": 2}, 5, insert=True)], on=(0,))
    it.read("b", 2)
    it.read("a", 2)
    assert told(it.images) == [("insert", None, 1), ("update", 1, 2), ("update", 2, 2)]
    assert it.images[2].changed == ()


# --- rows never seen ---


def test_deletions_of_rows_that_were_never_seen_are_told() -> None:
    it = story(whole=False)
    it.write([Delete((1, 1), 1)])
    it.write([Delete(Range((2,), True, (2,), True), 1)])
    it.write([Delete(None, 2)], k=2)
    it.read_all()
    assert [image.op for image in it.images] == ["delete", "delete_range", "delete_partition"]
    assert it.images[0].complete
    assert json.loads(it.images[1].range)["start"] == {"x": 2}
    assert it.images[1].clustering is None


def test_a_deleted_row_is_known_whole_from_then_on() -> None:
    it = story(whole=False)
    it.write([Set(ROW, {"a": 1}, 1)])
    it.write([Delete(ROW, 3)])
    it.write([Set(ROW, {"b": "b"}, 4)])
    it.read_all()
    assert told(it.images) == [("upsert", None, 1), ("delete", 1, None), ("insert", None, None)]
    assert [image.complete for image in it.images] == [False, True, True]
    assert json.loads(it.images[0].after) == {"k": 1, "x": 1, "y": 1, "a": 1}


def test_a_deletion_older_than_the_reading_makes_nothing_whole() -> None:
    """What was written between both, and read by nobody, may live."""
    it = story(whole=False, before=[([Delete(ROW, 1)], 1, (1,)), ([Set(ROW, {"b": "unread"}, 2)], 1, (0, 1))])
    it.cluster.hint(0, 0)
    it.write([Set(ROW, {"a": 1}, 4, insert=True)])
    it.read_all()
    assert told(it.images) == [("delete", None, None), ("upsert", None, 1)]
    assert [image.complete for image in it.images] == [False, False]
    assert "b" not in json.loads(it.images[1].after)


def test_a_deleted_column_of_a_row_that_was_never_seen_is_an_update() -> None:
    it = story(whole=False)
    it.write([Set(ROW, {"a": None}, 1)])
    it.write([Set(ROW, {"b": "b"}, 2)])
    it.read_all()
    assert told(it.images) == [("update", None, None), ("upsert", None, None)]
    assert [set(image.changed) for image in it.images] == [{"a"}, {"b"}]
    assert it.images[1].before == '{"k":1,"x":1,"y":1,"a":null}'


# --- truncate of one replica ---


def test_a_truncate_that_one_replica_has_and_the_other_not_yet() -> None:
    it = story()
    it.write([Set(ROW, {"a": 1}, 1, insert=True)], on=(0, 1))
    it.write([Set((1, 2), {"a": 1}, 1, insert=True)], on=(0,))
    it.read_all()
    it.cluster.truncate(0)
    it.read_all()
    it.look()
    it.check_select()
    assert [image.op for image in it.images[2:]] == ["truncate", "delete"]
    assert json.loads(it.images[3].before)["y"] == 2
    it.cluster.truncate(1)
    it.read_all()
    it.check_select()
    assert [image.op for image in it.images[4:]] == ["truncate", "delete"]


def test_a_truncate_shows_again_what_the_other_replica_never_lost() -> None:
    """The newer value, and a deletion, were on the truncated replica alone."""
    it = story()
    it.write([Set((1, 1), {"a": 1}, 1, insert=True), Set((1, 2), {"a": 1}, 1, insert=True)], on=(0, 1))
    it.write([Set((1, 1), {"a": 2}, 3), Delete((1, 2), 3)], on=(0,))
    it.read_all()
    it.cluster.truncate(0)
    it.read_all()
    it.look()
    it.check_select()
    assert sorted(told(it.images[-2:])) == [("insert", None, 1), ("update", 2, 1)]


def test_a_copy_that_was_dropped_early_left_its_mark() -> None:
    """`b` has the old value and the new one; that of `a` goes, nothing else does."""
    it = story()
    it.write([Set(ROW, {"a": 2}, 3, insert=True)], on=(0, 1))
    it.write([Set(ROW, {"a": 1}, 1, insert=True)], on=(0, 1))
    it.read_all()
    assert len(it.images) == 1
    it.cluster.truncate(0)
    it.read_all()
    assert [image.op for image in it.images] == ["insert", "truncate"]
    it.cluster.truncate(1)
    it.read_all()
    it.look()
    it.check_select()


def test_what_is_written_behind_a_truncate_stays_though_copies_are_read_first() -> None:
    it = story()
    it.write([Set(ROW, {"a": 1}, 1, insert=True)], on=(0, 1))
    for replica in (0, 1):
        it.cluster.truncate(replica)
    it.write([Set(ROW, {"b": "b"}, 0, insert=True)], on=(0, 1))
    it.read("b", 3)
    it.read("a", 3)
    it.look()
    it.check_select()


# --- forgetting ---


def test_a_tombstone_stays_while_a_node_that_is_behind_may_bring_what_it_took() -> None:
    """`b` logged the write before the deletion, and is read ten days late."""
    it = story(FLAT)
    it.write([Set((), {"a": 1}, 1, insert=True)], on=(1,))
    it.write([Delete((), 3)], on=(0, 1))
    it.tick(10)
    it.read("a", 5)
    it.tick(GC + 100)
    it.merger.forget(it.now_us, {"a": it.now, "b": it.now - GC - 110})
    it.read("b", 1)
    it.look()
    assert told(it.images) == [("delete", None, None)]
    it.read("b", 1)
    it.check_select()


def test_a_tombstone_stays_while_repair_may_bring_what_it_took() -> None:
    it = story(FLAT)
    it.write([Set((), {"a": 1}, 1, insert=True)], on=(1,))
    it.write([Delete((), 3)], on=(0,))
    it.read("b", 1)
    it.read("a", 1)
    it.tick(A_WEEK)
    it.forget()
    it.cluster.repair(1, 1, 0)
    it.read_all()
    it.look()
    it.check_select()
    assert told(it.images) == [("insert", None, 1), ("delete", 1, None)]


def test_what_is_old_everywhere_is_forgotten_and_what_comes_later_is_counted() -> None:
    it = story(FLAT)
    it.write([Set((), {"a": 1}, 1, insert=True)], on=(1,))
    it.write([Delete((), 3)], on=(0, 1))
    it.read_all()
    late = it.cluster.replicas[1].log[0].rows(FLAT)
    it.tick(GC + 100)
    it.forget()
    assert list(it.merger.held()) == []
    it.tick(1)
    (image,) = it.merger.entry(late, it.now_us)
    assert (image.op, image.prev_seq) == ("insert", None)
    assert image.seq > it.images[-1].seq
    assert it.merger.late_facts() > 0


def test_nothing_is_forgotten_where_one_node_was_not_read() -> None:
    it = story(FLAT, replicas=3)
    it.write([Delete((), 3)], on=(0, 1))
    it.read_all()
    it.tick(2 * GC)
    kept = list(it.merger.held())
    it.merger.forget(it.now_us, {"a": it.now, "b": it.now})
    assert list(it.merger.held()) == kept


def test_nor_what_a_copy_contradicts_that_was_logged_soon_and_is_read_late() -> None:
    """A hint a minute behind the deletion, on a node that is read again when gc_grace is over."""
    it = story(FLAT)
    it.write([Set((), {"a": 1}, 1, insert=True)], on=())
    it.write([Delete((), 3)], on=(0, 1))
    it.read_all()
    deleted_at = it.now
    it.tick(60)
    it.cluster.hint(0, 1)
    it.tick(GC + 100)
    it.merger.forget(it.now_us, {"a": it.now, "b": deleted_at + 60})
    it.read_all()
    it.look()
    it.check_select()
    assert it.images[1:] == []


def test_seq_goes_on_where_a_partition_is_forgotten_at_once() -> None:
    it = story(FLAT, replicas=1)
    it.write([Set((), {"a": 1}, 1, insert=True)])
    it.read_all()
    it.cluster.truncate(0)
    it.read_all()
    it.forget()
    it.write([Set((), {"a": 1}, 1, insert=True)])
    it.read_all()
    *_, last, again = it.images
    assert (again.op, again.prev_seq) == ("insert", last.seq)
    it.settle()
    assert it.merger.partitions() == {1}


# --- a TRUNCATE, and what is written while it runs ---


def test_what_is_written_while_a_truncate_runs_stays() -> None:
    """Its place is taken before it is logged; what is logged in between is read first."""
    it = story(FLAT, replicas=1)
    it.write([Set((), {"a": 1}, 1, insert=True)])
    it.cluster.begin_truncate(0)
    it.write([Set((), {"a": 2}, 3, insert=True)])
    it.read_all()
    it.cluster.end_truncate(0)
    it.read_all()
    it.look()
    it.check_select()
    assert told(it.images) == [("insert", None, 1), ("update", 1, 2), ("truncate", None, None)]


def test_also_what_was_written_before_and_is_logged_once_more() -> None:
    it = story(replicas=1)
    it.write([Set(ROW, {"a": 1}, 1, insert=True)])
    it.write([Set(ROW, {"b": "b"}, 2)])
    it.cluster.begin_truncate(0)
    it.cluster.hint(0, 0)
    it.read_all()
    it.cluster.end_truncate(0)
    it.read_all()
    it.look()
    it.check_select()
    assert told(it.images)[2:] == [("truncate", None, None), ("update", 1, 1)]


def test_also_what_was_written_over_before() -> None:
    """It was dropped from the state when it was written over; its copy behind the TRUNCATE's place counts again."""
    it = story(FLAT, replicas=1)
    it.write([Set((), {"a": 1}, 1, insert=True)])
    it.write([Set((), {"a": 2}, 3, insert=True)])
    it.cluster.begin_truncate(0)
    it.cluster.hint(0, 0)
    it.read_all()
    it.cluster.end_truncate(0)
    it.read_all()
    it.look()
    it.check_select()
    assert told(it.images)[2:] == [("truncate", None, None), ("update", 2, 1)]


def test_a_day_later_no_place_is_kept() -> None:
    """A TRUNCATE's place is seconds old; the first write behind a day that was read leaves older ones' places out."""
    it = story(replicas=1)
    it.write([Set(ROW, {"a": 1}, 1, insert=True)])
    it.read_all()
    it.tick(86_500)
    it.forget()
    it.write([Set(ROW, {"b": "b"}, 2)])
    it.read_all()
    known = it.merger.merger.known(it.cluster.table.id, '{"k":1}', '{"x":1,"y":1}')
    assert {fact.column: fact.places for fact in known.facts} == {"": ((0, 0),), "a": ((0, 0),), "b": ((7, 300),)}
    it.cluster.begin_truncate(0)
    it.write([Set(ROW, {"b": "b"}, 2)])
    it.read_all()
    it.cluster.end_truncate(0)
    it.read_all()
    it.look()
    it.check_select()


def test_a_truncate_that_is_read_days_late_takes_nothing_behind_its_place() -> None:
    it = story(replicas=1)
    it.cluster.begin_truncate(0)
    it.write([Set(ROW, {"a": 1}, 1, insert=True)])
    it.read("a")
    it.forget()
    it.cluster.end_truncate(0)
    it.write([Set(ROW, {"b": "b"}, 2)])
    it.tick(10 * 86_400)
    it.forget()
    it.read_all()
    it.look()
    it.check_select()


# --- counters ---


def test_a_counter_that_is_repaired_says_nothing_new() -> None:
    """The merged cell has all its shards under the newest time."""
    it = story(COUNTED)
    it.write([Add((1,), "c", 1, 1, 1, 1)], on=(0, 1))
    it.write([Add((1,), "c", 2, 1, 1, 2)], on=(0,))
    it.read_all()
    count = len(it.images)
    it.cluster.repair(1, 0, 1)
    it.read_all()
    assert it.images[count:] == []
    it.write([Delete((1,), 1)], on=(0, 1))
    it.read_all()
    it.look()
    it.check_select()
    assert [(image.op, image.changed) for image in it.images[count:]] == [("update", ())]


def test_an_expired_value_hides_what_is_older_until_nothing_older_can_come() -> None:
    it = story(FLAT)
    it.write([Set((), {"a": 1}, 1)], on=(1,))
    it.write([Set((), {"a": 2}, 3, ttl=10)], on=(0,))
    it.read("a", 1)
    it.tick(11)
    it.look()
    it.forget()
    it.read("b", 1)
    it.look()
    it.check_select()
    assert told(it.images) == [("insert", None, 2), ("expire", 2, None)]


def test_what_expired_is_forgotten_by_when_it_expired() -> None:
    it = story(FLAT)
    it.write([Set((), {"a": 1}, 1)], on=(1,))
    it.write([Set((), {"a": 2}, 3, ttl=2 * GC)], on=(0,))
    it.read_all()
    it.tick(2 * GC + 10)
    it.look()
    it.forget()
    it.cluster.repair(1, 1, 0)
    it.read_all()
    it.look()
    it.check_select()
    assert told(it.images) == [("insert", None, 2), ("expire", 2, None)]


def test_what_was_written_over_is_not_kept() -> None:
    it = story(FLAT)
    sizes = []
    for number in range(40):
        it.write([Set((), {"a": number}, number, insert=True)], on=(0, 1))
        it.read_all()
        sizes.append(sum(len(value) for _, _, value in it.merger.held()))
    assert len(it.images) == 40
    assert max(sizes) < sizes[0] + 20


# --- between the state and the sink ---


def test_images_that_were_lost_come_again_the_same() -> None:
    """Killed behind the merge and before the sink: the state from before it gives every image again."""
    it = story()
    it.write([Set(ROW, {"a": 1}, 1, insert=True, ttl=10)], on=(0, 1))
    it.read("a", 1)
    it.tick(11)
    it.batch([(1, [Delete(None, 3), Set(ROW, {"a": 2}, 4)]), (2, [Set(ROW, {"a": 3}, 4)])])
    rows = it.cluster.replicas[0].log[1].rows(WIDE)
    saved = copy.deepcopy(it.merger)
    lost = it.merger.entry(rows, it.now_us)
    again = saved.entry(rows, it.now_us)
    assert [image.op for image in lost] == ["expire", "insert", "insert"]
    assert lost == again
    assert list(saved.held()) == list(it.merger.held())


def test_a_lost_image_leaves_a_gap() -> None:
    it = story()
    for number in (1, 2, 3):
        it.write([Set((1, 1 + number % 2), {"a": number}, number)])
    it.read_all()
    first, _, third = it.images
    assert third.prev_seq != first.seq
    assert third.prev_seq == it.images[1].seq
