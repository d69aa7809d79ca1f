"""What a snapshot leaves of a table, history by history: what comes later and is older, what SELECT does not tell.

Each ends with the fold of all images equal to SELECT at ALL.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.images.parts import Add, Delete, Part, Set
from tests.helpers.images.snapshot import Snapshotted
from tests.helpers.images.story import GC
from tests.helpers.images.tables import COUNTED, FLAT, STATIC, WIDE, ModelTable, list_id

RELEASES = ("4.1.5", "5.0.9")
ROW = (1, 1)


def begun(table: ModelTable, *before: tuple[list[Part], tuple[int, ...]], **how: Any) -> Snapshotted:
    """A story whose past nobody read: writes of partition 1, each with the replicas that took it."""
    past = [(parts, 1, on) for parts, on in before]
    return Snapshotted(table, before=past, **{"release": "5.0.9", **how})


def read(story: Snapshotted) -> Snapshotted:
    """The whole snapshot; then all of the logs."""
    story.serve()
    story.serve()
    story.read_all()
    return story


def ended(story: Snapshotted) -> None:
    story.finish(())
    story.check()


def rows(story: Snapshotted) -> dict[Any, str]:
    return story.seen.rows


def test_a_hint_after_a_deletion_does_not_raise_the_dead() -> None:
    """One replica was down when the row was written, and has it by a hint, hours after it was deleted elsewhere."""
    story = begun(WIDE, ([Set(ROW, {"a": 1}, insert=True)], (0, 1)), ([Delete(ROW, 1)], (0, 1)))
    read(story)
    assert rows(story) == {}
    story.cluster.hint(0, to=2)
    story.read_all()
    assert rows(story) == {}
    story.cluster.hint(1, to=2)
    ended(story)


def test_a_repair_of_an_old_row_says_nothing_new() -> None:
    story = begun(WIDE, ([Set(ROW, {"a": 1, "b": "a"}, insert=True), Set(STATIC, {"s": 2})], (0,)))
    read(story)
    images = len(story.seen.last)
    before = dict(story.seen.seqs)
    for to in (1, 2):
        story.cluster.repair(1, 0, to)
    story.read_all()
    assert (len(story.seen.last), story.seen.seqs) == (images, before)
    ended(story)


def test_a_deletion_of_a_range_that_comes_late_takes_nothing_that_was_read() -> None:
    """It was acknowledged elsewhere long before: what it took was not in the answer."""
    story = begun(WIDE, ([Delete(None, 0)], (0, 1)), ([Set(ROW, {"a": 1}, 1, insert=True)], (0, 1)))
    read(story)
    story.cluster.hint(0, to=2)
    story.read_all()
    assert list(rows(story)) == [(1, ROW)]
    ended(story)


@pytest.mark.parametrize("release", RELEASES)
def test_an_element_that_was_removed_stays_removed(release: str) -> None:
    """Before 5.0 nobody tells when the others were put there."""
    put = Set((), {"t": (False, {"1": 1, "2": 2})}, 0)
    story = begun(FLAT, ([put], (0, 1, 2)), ([Set((), {"t": (False, {"1": None})}, 1)], (0, 1)), release=release)
    read(story)
    assert rows(story) == {(1, ()): '{"k":1,"a":null,"t":[2],"l":null,"u":null}'}
    story.cluster.hint(0, to=2)
    story.cluster.hint(1, to=2)
    story.write([Set((), {"t": (False, {"2": None})}, 1)])
    ended(story)
    assert rows(story) == {}


def test_a_shard_after_the_snapshot_has_the_row_read_again() -> None:
    one = Add((1,), "c", shard=1, clock=1, total=5)
    story = begun(COUNTED, ([one], (0,)), ([Add((1,), "c", shard=2, clock=1, total=7)], (1,)))
    read(story)
    assert rows(story) == {(1, (1,)): '{"k":1,"x":1,"c":12,"d":null}'}
    story.write([Add((1,), "c", shard=1, clock=2, total=6, ts=1)])
    story.read_all()
    # Its two shards of before are one number now, of which nobody can take the old one away.
    assert rows(story) == {(1, (1,)): '{"k":1,"x":1,"d":null}'}
    assert story.answer()
    assert rows(story) == {(1, (1,)): '{"k":1,"x":1,"c":13,"d":null}'}
    ended(story)


def test_a_marker_goes_with_the_oldest_cell_that_it_was_guessed_by() -> None:
    """INSERT with a TTL: marker and cells expire together. That is a guess, so it is asked whether the row is gone."""
    story = begun(WIDE, ([Set(ROW, {"a": 1, "b": "b"}, insert=True, ttl=20)], (0, 1, 2)))
    read(story)
    assert list(rows(story)) == [(1, ROW)]
    story.tick(21)
    story.look()
    assert rows(story) == {}
    assert story.answer()
    assert rows(story) == {}
    assert not story.answer()
    ended(story)


@pytest.mark.parametrize("behind", [False, True])
def test_a_row_that_was_inserted_stays_when_its_values_end(behind: bool) -> None:
    """INSERT without a TTL, then UPDATE with one; `behind`: the log tells of both, behind the snapshot."""
    past = [([Set(ROW, {}, insert=True)], (0, 1)), ([Set(ROW, {"a": 1}, 1, ttl=20)], (0, 1))]
    story = begun(WIDE, *([] if behind else past))
    for parts, on in past if behind else ():
        story.write(parts, on=on)
    read(story)
    story.tick(21)
    story.look()
    assert rows(story) == {}
    assert story.answer()
    assert rows(story) == {(1, ROW): '{"k":1,"x":1,"y":1,"a":null,"b":null,"m":null}'}
    ended(story)


def test_what_ended_by_a_guess_is_forgotten_though_nobody_asked() -> None:
    story = begun(WIDE, ([Set(ROW, {"a": 1}, insert=True, ttl=20)], (0, 1)))
    read(story)
    story.tick(21)
    story.look()
    assert story.merger.kept_rows() == {(1, ROW)}
    story.tick(GC + 1)
    story.forget()
    assert story.merger.kept_rows() == set()


@pytest.mark.parametrize("insert", [True, False])
def test_a_row_that_only_a_guess_keeps_is_asked_for(insert: bool) -> None:
    """Its values are deleted: it stays if it was inserted, and goes if it was only updated."""
    story = begun(WIDE, ([Set(ROW, {"a": 1}, insert=insert)], (0, 1, 2)))
    read(story)
    story.write([Set(ROW, {"a": None}, 1)])
    story.read_all()
    assert list(rows(story)) == [(1, ROW)]
    assert story.answer()
    assert list(rows(story)) == ([(1, ROW)] if insert else [])
    assert not story.answer()
    ended(story)


def test_a_marker_that_is_known_counts_before_a_guess_of_its_time() -> None:
    """What was guessed expires with the cell; the row was inserted at the same time, to stay."""
    story = begun(WIDE)
    story.write([Set(ROW, {"a": 1}, ttl=20)])
    read(story)
    story.write([Set(ROW, {}, insert=True)])
    story.tick(21)
    ended(story)
    assert list(rows(story)) == [(1, ROW)]


@pytest.mark.parametrize("release", RELEASES)
def test_a_list_that_changes_in_its_midst_is_read_again(release: str) -> None:
    whole = Set((), {"l": (True, {list_id(1): 1, list_id(2): 2})}, 0)
    story = begun(FLAT, ([whole], (0, 1, 2)), release=release)
    read(story)
    assert rows(story) == {(1, ()): '{"k":1,"a":null,"t":null,"l":[1,2],"u":null}'}
    story.write([Set((), {"l": (False, {list_id(1): None})}, 1)], on=(0, 1))
    story.read_all()
    assert rows(story) == {(1, ()): '{"k":1,"a":null,"t":null,"u":null}'}
    story.answer()
    assert rows(story) == {(1, ()): '{"k":1,"a":null,"t":null,"l":[2],"u":null}'}
    ended(story)


def test_what_makes_a_guess_unsure_is_not_forgotten() -> None:
    """Nobody answers, and all tombstones are as old as they may get: the list is not told as it was."""
    whole = Set((), {"l": (True, {list_id(1): 1, list_id(2): 2})}, 0)
    story = begun(FLAT, ([whole], (0, 1, 2)))
    read(story)
    story.write([Set((), {"l": (False, {list_id(1): None})}, 1)], on=(0, 1))
    story.read_all()
    story.tick(2 * GC)
    story.forget()
    story.reopen()
    assert story.merger.shown(1, ()) == (True, '{"k":1,"a":null,"t":null,"u":null}')
    story.answer()
    assert rows(story) == {(1, ()): '{"k":1,"a":null,"t":null,"l":[2],"u":null}'}
    ended(story)


def test_what_the_state_knew_wrongly_is_healed() -> None:
    """A loss: a row was deleted and another written, of which the reader was never told."""
    story = begun(WIDE, ([Set(ROW, {"a": 1}, insert=True), Set((1, 2), {"b": "b"}, insert=True)], (0, 1, 2)))
    read(story)
    story.write([Delete(ROW, 1), Set((2, 1), {"a": 2}, 1, insert=True)], on=(0, 1, 2))
    for node in story.next:
        story.next[node] += 1
    story.lose()
    assert sorted(key for _, key in rows(story)) == [(1, 1), (1, 2)]
    story.serve_anew()
    assert sorted(key for _, key in rows(story)) == [(1, 2), (2, 1)]
    ended(story)


def test_a_second_snapshot_of_what_is_known_tells_nothing() -> None:
    story = begun(WIDE, ([Set(ROW, {"a": 1, "m": (True, {"1": 2})}, insert=True), Set(STATIC, {"s": 2})], (0, 1, 2)))
    read(story)
    before = dict(story.seen.seqs)
    story.serve_anew()
    assert story.seen.seqs == before
    ended(story)


def test_what_is_older_than_the_floor_may_be_asked_for() -> None:
    """A backfill: it has a timestamp of the past, and was written behind the snapshot."""
    for rereads, there in ((False, False), (True, True)):
        story = begun(WIDE, ([Set((2, 2), {"a": 1}, insert=True)], (0, 1, 2)), rereads=rereads)
        read(story)
        story.base -= 1000
        story.write([Set(ROW, {"a": 7}, insert=True)], on=(0, 1, 2))
        story.read_all()
        story.answer()
        assert ((1, ROW) in rows(story)) == there
