"""What a journal may forget: the floor by hand, each kind of record by hand, definitions against random histories; and
what it has of consumers that were dropped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.definitions.history import DefinitionHistory
from tailer.position import Position
from tailer.retention.forget import Floor, floor_of, wanted, without
from tailer.schema.masks import Masks
from tailer.schema.ring import Primaries
from tailer.schema.rows import BASE_TS, SchemaDelta
from tailer.state.consumers import ConsumerFile, Mark, NodeState
from tailer.state.journal_records import (
    AnyRecord,
    AppearedRecord,
    GenerationRecord,
    LearntRecord,
    LossRecord,
    MasksRecord,
    MemoryRecord,
    OptionsRecord,
    OwnAppearedRecord,
    OwnSchemaRecord,
    RecountRecord,
    ReplayedRecord,
    RetractRecord,
    RingRecord,
    SchemaRecord,
    SegmentEndRecord,
    SkipRecord,
    StartRecord,
    TimesRecord,
)
from tailer.state.learnt import Learnt
from tailer.state.offset import NodeOffset
from tailer.state.segment_times import SegmentTimes
from tests.unit.schema.made import ID_A, ID_B, SIMPLE, column, create, data, drop, gone, heading, user_type

SEGMENTS = range(1, 8)
OTHER_IDS = (ID_A, ID_B, "0c" * 16, "0d" * 16)


def numbered(records: Sequence[AnyRecord]) -> list[AnyRecord]:
    return [msgspec.structs.replace(record, n=number) for number, record in enumerate(records, 1)]


def end(segment: int, consumer: str | None = None) -> SegmentEndRecord:
    return SegmentEndRecord(segment=segment, published=10, end=20, finished="completed", consumer=consumer)


def schema(at: tuple[int, int], deltas: Sequence[SchemaDelta], source: str = "log") -> SchemaRecord:
    return SchemaRecord(at=Position(*at), source=source, deltas=tuple(deltas))


def own(record: SchemaRecord, consumer: str = "c") -> OwnSchemaRecord:
    return OwnSchemaRecord(**msgspec.structs.asdict(record), consumer=consumer)


def left(records: Sequence[AnyRecord], segment: int, j: int = 99) -> list[int]:
    return [record.n for record in wanted(numbered(records), Floor(segment, j))]


def consumer(**state: object) -> ConsumerFile:
    return ConsumerFile("c", {"local": NodeState(**state)})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("state", "floor"),
    [
        ({"offset": NodeOffset(40, 8, 5, False)}, Floor(8, 40)),
        ({"offset": NodeOffset(40, 8, 5, False), "restart": (6, 100)}, Floor(6, 40)),
        ({"offset": NodeOffset(40, 8, 5, False, ((5, 0), (7, 9)))}, Floor(5, 40)),
        ({"offset": NodeOffset(40, 8, 5, False), "initial": NodeOffset(31, 7, 0, True)}, Floor(8, 40)),
        ({"offset": NodeOffset(40, 8, 5), "ahead": (Mark(NodeOffset(38, 9, 1), restart=(4, 0)),)}, Floor(4, 38)),
        ({"offset": NodeOffset(40, 12, 5, False)}, Floor(10, 40)),
    ],
    ids=["position", "restart", "late segments", "no longer at the initial offset", "handed out", "what is there"],
)
def test_the_floor_is_the_lowest_of_all_that_is_held(state: dict[str, object], floor: Floor) -> None:
    assert floor_of([consumer(**state)], [10, 11, 12], 50) == floor
    further = consumer(offset=NodeOffset(49, 20, 0, True))
    assert floor_of([further, consumer(**state)], [10, 11, 12], 50) == floor


def test_without_consumers_the_floor_is_what_is_there() -> None:
    assert floor_of([], [10, 11], 50) == Floor(10, 50)
    assert floor_of([], [], 50) == Floor(0, 50), "nothing is behind nothing"


def test_what_speaks_of_segments_behind_the_floor_goes() -> None:
    records: list[AnyRecord] = [
        end(4), end(5), end(4, "c"),
        LossRecord(consumer="c", start=Position(3, 0), end=Position(5, 0)),
        LossRecord(consumer="c", start=Position(4, 0), end=Position(5, 1)),
        SkipRecord(consumer="c", at=Position(4, 7), reason="", lost=1),
        SkipRecord(consumer="c", at=Position(5, 7), reason="", lost=1),
        RecountRecord(consumer="c", at=Position(4, 7), j=1, upto=2),
        RecountRecord(consumer="c", at=Position(5, 0), j=1, upto=2),
    ]  # fmt: skip
    assert left(records, 5) == [2, 5, 7, 9]
    assert left(records, 0) == list(range(1, 10))


def test_of_what_says_how_far_a_segment_was_searched_the_furthest_stays() -> None:
    def searched(segment: int, upto: int, begin: int = 0) -> LearntRecord:
        return LearntRecord(of=Learnt(segment, upto, upto, begin))

    records = [searched(4, 100), searched(5, 100), searched(5, 200), searched(6, 100), searched(6, 200, begin=50)]
    assert left(records, 5) == [3, 4, 5], "the first of segment 6 counts for who leaves no head out"
    assert left(records, 0) == [1, 3, 4, 5]


def test_what_some_offset_does_not_count_yet_stays() -> None:
    records = [end(1), end(2), end(3)]
    assert left(records, 9, j=2) == [3]
    assert left(records, 9, j=0) == [1, 2, 3]


def test_of_what_a_consumer_said_of_itself_the_last_stays() -> None:
    records: list[AnyRecord] = [
        OptionsRecord(consumer="a", options={"tables": []}), OptionsRecord(consumer="b", options={"tables": []}),
        StartRecord(consumer="a", segment=3), OptionsRecord(consumer="a", options={"tables": ["x"]}),
        StartRecord(consumer="a", segment=4), OptionsRecord(consumer="a", options={"tables": ["y"]}),
    ]  # fmt: skip
    assert left(records, 9) == [2, 5, 6]
    assert left(records, 9, j=4) == [2, 3, 4, 5, 6], "an offset before the fifth counts the fourth"


ALTERS = [schema((1, 10), create("t", ID_A, 10, SIMPLE)), schema((1, 20), [heading("t", ID_A, 20, cdc=False)])]


def test_a_definition_goes_when_others_have_said_all_of_it_again() -> None:
    third = schema((1, 30), [heading("t", ID_A, 30)])
    assert left([*ALTERS, third], 2) == [1, 3]
    whole = schema((1, 40), create("t", ID_A, 40, SIMPLE))
    assert left([*ALTERS, third, whole], 2) == [4]
    assert left([*ALTERS, third, whole], 1) == [1, 2, 3, 4], "they hold inside the floor's segment"


def test_the_last_definition_of_a_dropped_table_stays() -> None:
    dropped = [schema((1, 30), drop("t", ["id", "v"], 30)), schema((1, 40), create("t", ID_B, 40, SIMPLE))]
    assert left([*ALTERS, *dropped], 2) == [1, 2, 3, 4]


def test_what_lies_beneath_a_given_definition_stays() -> None:
    base = schema((0, 0), create("u", "0c" * 16, BASE_TS, SIMPLE), "file x.cql")
    later = schema((1, 30), create("t", ID_A, 30, SIMPLE))
    assert left([*ALTERS, base, later], 2) == [3, 4]
    above = schema((1, 25), create("t", ID_A, BASE_TS, SIMPLE), "server h")
    assert left([*ALTERS, above, later], 2) == [1, 2, 3, 4]
    assert left([*ALTERS, own(above), later], 2) == [1, 2, 3, 4]


def test_what_was_taken_back_goes_with_who_took_it_back() -> None:
    records = [*ALTERS, RetractRecord(of=2)]
    assert left(records, 2) == [1]
    assert left(records, 2, j=2) == [1, 2, 3], "an offset before the third still counts the second"


def test_what_was_taken_back_ahead_stays_known_as_that() -> None:
    """Somebody far behind meets it again where it stands, and must not take it for news."""
    records = [*ALTERS, schema((5, 10), [heading("t", ID_A, 30)]), RetractRecord(of=3)]
    assert left(records, 2) == [1, 2, 3, 4]
    assert left(records, 6) == [1, 2]


def test_what_lies_beneath_a_definition_that_only_later_offsets_take_back_stays() -> None:
    records = [*ALTERS, schema((1, 30), [heading("t", ID_A, 30)]), RetractRecord(of=3)]
    assert left(records, 2, j=3) == [1, 2, 3, 4], "for offsets behind the fourth the second is the last one"
    assert left(records, 2) == [1, 2]


COLUMNS = ("v", "w", "x")
TYPES = ("int", "text", "frozen<u>")


@st.composite
def histories(draw: st.DrawFn) -> list[AnyRecord]:
    """What a server may log of one keyspace: tables made, altered, dropped, made anew; types; at rising positions."""
    records: list[AnyRecord] = []
    segment, offset = 1, 10
    lives: dict[str, str] = {}
    for ts in range(10, 10 + draw(st.integers(1, 14)) * 10, 10):
        offset += 10
        if draw(st.integers(0, 3)) == 0:
            segment, offset = segment + 1, 10
        table = draw(st.sampled_from(("t", "u")))
        what = draw(st.sampled_from(("create", "add", "drop column", "flags", "drop", "type", "again")))
        id = lives.get(table)
        deltas: list[SchemaDelta]
        if what == "type":
            deltas = [user_type("u", dict.fromkeys(COLUMNS[: draw(st.integers(1, 3))], "int"), ts)]
        elif id is None or what in ("create", "again"):
            id = draw(st.sampled_from(OTHER_IDS)) if id is None or what == "create" else id
            kinds = {name: data(draw(st.sampled_from(TYPES))) for name in COLUMNS}
            deltas = create(table, id, ts, {**SIMPLE, **kinds})
            lives[table] = id
        elif what == "drop":
            deltas = drop(table, ["id", *COLUMNS], ts)
            del lives[table]
        elif what == "flags":
            deltas = [heading(table, id, ts, cdc=draw(st.booleans()))]
        else:
            name = draw(st.sampled_from(COLUMNS))
            change = gone("columns", [table, name], ts) if what == "drop column" else None
            deltas = [change or column(table, name, data(draw(st.sampled_from(TYPES))), ts), heading(table, id, ts)]
        source = "server h" if draw(st.integers(0, 12)) == 0 else "log"
        made = schema((segment, offset), deltas, source)
        records.append(own(made) if source != "log" and draw(st.booleans()) else made)
        if draw(st.integers(0, 9)) == 0:
            # Nothing else can be taken back.
            told = [number for number, each in enumerate(records, 1) if isinstance(each, SchemaRecord)]
            records.append(RetractRecord(of=draw(st.sampled_from(told))))
    return numbered(records)


@given(histories(), st.integers(1, 6), st.integers(0, 20), st.data())
def test_definitions_are_the_same_for_everybody_from_the_floor_on(
    records: list[AnyRecord], segment: int, j: int, data: st.DataObject
) -> None:
    kept = wanted(records, Floor(segment, j))
    assert [record.n for record in kept] == sorted({record.n for record in kept})
    counted = data.draw(st.integers(j, max(j, len(records))))
    places = [r.at for r in records if isinstance(r, SchemaRecord) and r.at.segment >= segment]
    for whose in (None, "c"):
        before = DefinitionHistory((record for record in records if record.n <= counted), whose)
        after = DefinitionHistory((record for record in kept if record.n <= counted), whose)
        for at in [Position(segment, 0), *places]:
            assert dict(after.as_of(at)) == dict(before.as_of(at)), at
        assert dict(after.newest) == dict(before.newest)


@given(histories(), st.integers(1, 6))
def test_what_comes_later_gives_the_same_too(records: list[AnyRecord], segment: int) -> None:
    """As a run that reads on: records that are not there yet when the journal is compacted."""
    half = len(records) // 2
    kept = wanted(records[:half], Floor(segment, half))
    later = [r for r in records[half:] if not isinstance(r, SchemaRecord) or r.at.segment >= segment]
    before, after = DefinitionHistory([*records[:half], *later]), DefinitionHistory([*kept, *later])
    for record in later:
        if isinstance(record, SchemaRecord):
            assert dict(after.as_of(record.at)) == dict(before.as_of(record.at))


def test_thousands_of_alters_leave_few_records() -> None:
    records: list[AnyRecord] = [schema((1, 1), create("t", ID_A, 1, SIMPLE))]
    for number in range(2, 5000):
        records.append(schema((number, 1), [column("t", "v", data("text"), number), heading("t", ID_A, number)]))
        records.append(end(number))
    assert len(wanted(numbered(records), Floor(5001, len(records)))) <= 2


def ring(node: str, number: int, consumer: str = "c") -> RingRecord:
    return RingRecord(consumer=consumer, node=node, source="server", primaries=Primaries({"ks": 0}, (((0, number),),)))


def test_of_each_nodes_ring_the_last_counts_and_what_an_offset_still_counts() -> None:
    records = [ring("a", 1), ring("b", 1), ring("a", 2), ring("a", 3)]
    assert left(records, 5) == [2, 4]
    assert left([*records, ring("a", 4, "other")], 5) == [2, 4, 5]
    assert left(records, 5, j=3) == [2, 3, 4]
    assert left(records, 5, j=1) == [1, 2, 3, 4]


def test_of_a_segments_times_the_last_record_has_what_those_before_it_had() -> None:
    told = [TimesRecord(segment=segment, times=SegmentTimes(((10, 5.0),))) for segment in (3, 5, 5, 6)]
    assert left(told, 5) == [3, 4]
    assert left(told, 7) == []


# What only dropped consumers said


def of_each_kind(name: str | None) -> list[AnyRecord]:
    """One of each kind that may name a consumer."""
    named: list[AnyRecord] = [
        OptionsRecord(consumer=name, options={"tables": ["x"]}),
        StartRecord(consumer=name, segment=3),
        SkipRecord(consumer=name, at=Position(4, 7), reason="", lost=1),
        LossRecord(consumer=name, start=Position(3, 0), end=Position(5, 0)),
        RecountRecord(consumer=name, at=Position(4, 7), j=1, upto=2),
        AppearedRecord(consumer=name, segment=7, behind=9, end=None),
        OwnAppearedRecord(consumer=name, segment=8, behind=9, end=None),
        end(4, name),
    ]
    if name is None:
        return named
    always: list[AnyRecord] = [
        own(schema((1, 25), create("t", ID_A, BASE_TS, SIMPLE), "file x"), name),
        ReplayedRecord(consumer=name, node="n", at=Position(4, 7)),
        MasksRecord(consumer=name, masks=Masks()),
        MemoryRecord(consumer=name, node="n"),
        ring("n", 1, name),
    ]
    return [*named, *always]


def test_every_kind_that_names_a_consumer_is_tried() -> None:
    named = {kind for kind in get_args(AnyRecord) if "consumer" in kind.__struct_fields__}
    assert {type(record) for record in of_each_kind("a")} == named - {GenerationRecord}


def test_what_only_dropped_consumers_said_goes() -> None:
    records = numbered([*of_each_kind("a"), *of_each_kind("b"), *of_each_kind(None), *ALTERS])
    kept = without(records, {"a", "none of these"})
    assert kept == records[len(of_each_kind("a")) :]
    assert without(records, ()) == records


def test_the_generation_that_a_name_begins_with_stays() -> None:
    told = [GenerationRecord(consumer=name, generation=number) for name in ("a", "b") for number in (1, 2)]
    assert without(numbered(told), {"a"}) == numbered(told)[1:]


def test_who_took_a_dropped_consumers_definition_back_goes_with_it() -> None:
    first, second = (own(schema((1, 25), create("t", ID_A, BASE_TS, SIMPLE), "file x"), name) for name in ("a", "b"))
    records = numbered([first, second, RetractRecord(of=1), RetractRecord(of=2)])
    assert [record.n for record in without(records, {"a"})] == [2, 4]


@given(histories())
def test_definitions_of_all_others_are_the_same_without_them(records: list[AnyRecord]) -> None:
    kept = without(records, {"c"})
    before, after = DefinitionHistory(records), DefinitionHistory(kept)
    for record in records:
        if isinstance(record, SchemaRecord):
            assert dict(after.as_of(record.at)) == dict(before.as_of(record.at))
    assert dict(after.newest) == dict(before.newest)
    assert dict(DefinitionHistory(kept, "c").newest) == dict(after.newest)
