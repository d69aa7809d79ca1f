"""Where two sides of a partition differ, by what is known of it."""

from __future__ import annotations

from tailer.comparing.partition import Difference, KnownPartition, ServedPartition, differences, unknown_rows

NAME = b"\x80" + b"\0" * 7 + b"k"
ONE, TWO, OTHER = b"1", b"2", b"3"


def found(known: KnownPartition | None, served: ServedPartition | None, *, whole: bool = False) -> set[Difference]:
    return set(differences(NAME, known, served, whole=whole))


def test_rows_that_are_alike_differ_nowhere() -> None:
    rows = {ONE: {"v": b"a", "w": None}, None: {"s": b"x"}}
    assert found(KnownPartition(NAME, rows, whole=True), ServedPartition(NAME, rows)) == set()


def test_a_value_that_differs_is_told_with_both() -> None:
    known, served = (
        KnownPartition(NAME, {ONE: {"v": b"a", "w": None}}, whole=True),
        ServedPartition(NAME, {ONE: {"v": b"b", "w": b"c"}}),
    )
    assert found(known, served) == {
        Difference(NAME, ONE, "value", "v", b"a", b"b"),
        Difference(NAME, ONE, "value", "w", None, b"c"),
    }


def test_a_column_that_is_not_known_is_held_to_nothing() -> None:
    known = KnownPartition(NAME, {ONE: {"v": b"a"}}, whole=False)
    assert found(known, ServedPartition(NAME, {ONE: {"v": b"a", "w": b"c"}})) == set()


def test_rows_on_one_side_alone() -> None:
    known, served = KnownPartition(NAME, {ONE: {}, TWO: {}}, whole=True), ServedPartition(NAME, {TWO: {}, OTHER: {}})
    assert found(known, served) == {Difference(NAME, ONE, "surplus"), Difference(NAME, OTHER, "missing")}


def test_a_row_that_may_be_there_is_unknown_and_no_difference() -> None:
    served = ServedPartition(NAME, {ONE: {}, TWO: {}})
    in_part = KnownPartition(NAME, {}, whole=False)
    assert (found(in_part, served), unknown_rows(in_part, served, whole=False)) == (set(), 2)
    unsure = KnownPartition(NAME, {}, whole=True, unsure=frozenset({ONE}))
    assert found(unsure, served) == {Difference(NAME, TWO, "missing")}
    assert unknown_rows(unsure, served, whole=False) == 1


def test_a_partition_that_images_have_nothing_of() -> None:
    served = ServedPartition(NAME, {ONE: {}})
    assert found(None, served, whole=True) == {Difference(NAME, ONE, "missing")}
    assert (found(None, served), unknown_rows(None, served, whole=False)) == (set(), 1)
    assert found(KnownPartition(NAME, {ONE: {}}, whole=True), None) == {Difference(NAME, ONE, "surplus")}
