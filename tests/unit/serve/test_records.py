"""`/records`: the journal read and appended to from elsewhere, and what the node derives from its own log."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tailer.options.tail import TailOptions
from tailer.position import Position
from tailer.state.folder_journal import FolderJournal
from tailer.state.ids import Ids
from tailer.state.ids_json import to_texts
from tailer.state.journal_records import (
    AnyRecord,
    CompactedRecord,
    DefinitionRecord,
    GenerationRecord,
    LearntRecord,
    LossRecord,
    MemoryRecord,
    OptionsRecord,
    OwnSchemaRecord,
    RetractRecord,
    SchemaRecord,
    SegmentEndRecord,
    SkipRecord,
    StartRecord,
    StateRecord,
    content,
)
from tailer.state.learnt import Learnt
from tailer.wire.state import RecordsAnswer, decode
from tests.helpers.log_writer import (
    AES,
    Column,
    LogFolder,
    SegmentWriter,
    alter_payload,
    completed,
    create_payload,
    insert_payload,
    live,
    segment_of,
    simple_table,
)
from tests.helpers.logs.native import NativeWriter
from tests.helpers.served import Answer, ServedNode, served
from tests.helpers.tails import open_tail
from tests.native.logs import NOTES, ORDERS, folder_of, put

FIRST = 1_700_000_000_001
TABLE = simple_table("ks", "t")
NAME = "billing"


def segment(number: int) -> SegmentWriter:
    """A definition of the table's, one more column, and a row."""
    added = Column(f"v{number}", "regular", "text")
    row = insert_payload(TABLE, number, "a", number)
    return segment_of(FIRST + number, [[create_payload(TABLE), row], [alter_payload(TABLE, added)], [row]])


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    folder = LogFolder(tmp_path / "cdc_raw")
    for number in range(4):
        writer = segment(number)
        folder.put(writer, live(writer) if number == 3 else completed(writer))
    return folder


def said_by(folder: Path, elsewhere: Path, **options: Any) -> list[AnyRecord]:
    """What a tail of this folder journals that keeps its state elsewhere, but for what saves work alone."""
    with open_tail(folder, TailOptions(state=elsewhere, schema_changes=True, **options)) as tail:
        while (step := tail.step()).brings:
            tail.advance(step)
        found = tail.parts.journal.read()
    return [record for record in found if not isinstance(record, LearntRecord)]


def posted(node: ServedNode, records: Sequence[AnyRecord], expected: int, consumer: str = "", **headers: str) -> Answer:
    told = [msgspec.to_builtins(msgspec.structs.replace(record, n=0), enc_hook=to_texts) for record in records]
    return node.ask("POST", "/records", {"expected": expected, "records": told, "consumer": consumer}, headers)


def records_of(node: ServedNode, after: int = 0, base: int | None = None) -> RecordsAnswer:
    more = "" if base is None else f"&base={base}"
    answer = node.ask("GET", f"/records?from={after}{more}")
    assert answer.status == 200
    found: RecordsAnswer = decode(answer.body, RecordsAnswer)
    return found


def taken(node: ServedNode, reader: str = "one") -> dict[str, str]:
    """The headers of a reader that has the consumer."""
    answer = node.ask("PUT", f"/consumers/{NAME}", {"reader": reader})
    return {"X-Cdc-Lease": str(answer.json["version"]), "X-Cdc-Reader": reader}


def loss(number: int, consumer: str | None = NAME) -> LossRecord:
    return LossRecord(consumer=consumer, start=Position(number, 0), end=Position(number + 1, 0))


def refused(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.error


# Reading


def test_records_behind_a_number(node: ServedNode, state: Path) -> None:
    assert records_of(node) == RecordsAnswer("", 0, records_of(node).base, [])
    journal = FolderJournal(state)
    journal.append([loss(number) for number in range(5)])
    found = records_of(node, 3)
    assert (found.id, found.count, found.anew, found.more) == (journal.id, 5, False, False)
    assert [record.n for record in found.records] == [4, 5]
    assert records_of(node, 5).records == []


def test_who_knows_more_than_there_is_reads_anew(node: ServedNode, state: Path) -> None:
    FolderJournal(state).append([loss(1)])
    found = records_of(node, 7)
    assert (found.anew, [record.n for record in found.records]) == (True, [1])


def test_many_records_come_in_parts(node: ServedNode, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailer.serve.records.RECORDS_BYTES_MAX", 1000)
    FolderJournal(state).append([loss(number) for number in range(50)])
    numbers: list[int] = []
    while True:
        found = records_of(node, numbers[-1] if numbers else 0)
        assert found.records
        numbers += [record.n for record in found.records]
        if not found.more:
            break
    assert numbers == list(range(1, 51))


def test_a_compaction_in_between_is_read_anew(node: ServedNode, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = FolderJournal(state)
    journal.append([loss(number) for number in range(50)])
    assert len(records_of(node, 10).records) == 40
    base = journal.compact(5, lambda records: records[::2])
    assert base is not None
    assert records_of(node, base.upto).anew is False
    # Who says nothing of the base gets all of it at once.
    monkeypatch.setattr("tailer.serve.records.RECORDS_BYTES_MAX", 1000)
    whole = records_of(node, 10)
    assert (whole.anew, whole.base, len(whole.records)) == (True, base, 25)
    # Who does goes on in it.
    first = records_of(node, 10, base=0)
    assert (first.anew, first.more) == (True, True)
    numbers = [record.n for record in first.records]
    while first.more:
        first = records_of(node, numbers[-1], base=base.upto)
        assert not first.anew
        numbers += [record.n for record in first.records]
    assert numbers == [record.n for record in whole.records]


@pytest.mark.parametrize("query", ["from=-1", "from=x", "from=1e3", "from=", "from=1&base=x", f"from={'9' * 30}"])
def test_numbers_that_are_none_are_refused(query: str, node: ServedNode) -> None:
    assert refused(node.ask("GET", f"/records?{query}")) == (400, "refused")


# A consumer's own decisions


def test_a_consumer_appends_its_decisions(node: ServedNode, state: Path) -> None:
    lease = taken(node)
    own: list[AnyRecord] = [
        loss(5),
        SkipRecord(consumer=NAME, at=Position(5, 5), reason="r", lost=7),
        StartRecord(consumer=NAME, segment=5),
        OptionsRecord(consumer=NAME, options={"a": 1}),
        MemoryRecord(consumer=NAME, node="n"),
        GenerationRecord(consumer=NAME, generation=2),
        SegmentEndRecord(segment=5, published=1, end=1, finished="stopped", consumer=NAME),
    ]
    answer = posted(node, own, 0, NAME, **lease)
    assert answer.json == {"numbers": [1, 2, 3, 4, 5, 6, 7]}
    assert [content(record) for record in FolderJournal(state).read()] == [content(record) for record in own]


def test_an_answer_that_was_lost_is_given_again(node: ServedNode, state: Path) -> None:
    lease = taken(node)
    memory = MemoryRecord(consumer=NAME, node="n", seen=Ids.of([5, 6, 9]), not_bare=Ids.of([4]))
    own: list[AnyRecord] = [loss(5), OptionsRecord(consumer=NAME, options={"a": 1}), memory, loss(6)]
    for _ in range(3):
        assert posted(node, own, 0, NAME, **lease).json == {"numbers": [1, 2, 3, 4]}
    # One that stands there already keeps its number.
    again: list[AnyRecord] = [loss(6), OptionsRecord(consumer=NAME, options={"a": 2})]
    for _ in range(2):
        assert posted(node, again, 4, NAME, **lease).json == {"numbers": [4, 5]}
    other = MemoryRecord(consumer=NAME, node="n", seen=Ids.of([5, 6]))
    assert refused(posted(node, [loss(5), own[1], other, loss(6)], 0, NAME, **lease)) == (409, "behind")
    assert FolderJournal(state).count == 5


def test_who_is_behind_is_told_so(node: ServedNode, state: Path) -> None:
    lease = taken(node)
    FolderJournal(state).append([loss(1, "other")])
    answer = posted(node, [loss(5)], 0, NAME, **lease)
    assert refused(answer) == (409, "behind")
    options: list[AnyRecord] = [OptionsRecord(consumer=NAME, options={"a": 1})]
    for expected in (0, 5):
        assert refused(posted(node, options, expected, NAME, **lease)) == (409, "behind")
    assert posted(node, [loss(5)], 1, NAME, **lease).json == {"numbers": [2]}


def test_two_who_append_at_once_do_so_one_behind_the_other(node: ServedNode, state: Path) -> None:
    lease = taken(node)
    answers: list[Answer] = []

    def append(number: int) -> None:
        records: list[AnyRecord] = [OptionsRecord(consumer=NAME, options={"a": number})]
        answers.append(posted(node, records, 0, NAME, **lease))

    threads = [threading.Thread(target=append, args=[number]) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(each.status for each in answers) == [200] + [409] * 7
    assert FolderJournal(state).count == 1


def test_decisions_need_the_lease(node: ServedNode, state: Path) -> None:
    assert refused(posted(node, [loss(5)], 0, NAME)) == (409, "no-lease")
    old = taken(node)
    node.ask("PUT", f"/consumers/{NAME}", {"reader": "one", "version": 1, "gives_back": True})
    new = taken(node, "two")
    assert refused(posted(node, [loss(5)], 0, NAME, **old)) == (409, "superseded")
    assert posted(node, [loss(5)], 0, NAME, **new).status == 200
    assert FolderJournal(state).count == 1


@pytest.mark.parametrize("consumer", [None, "other"])
def test_decisions_are_in_the_readers_own_name(consumer: str | None, node: ServedNode, state: Path) -> None:
    lease = taken(node)
    assert refused(posted(node, [loss(5), loss(5, consumer)], 0, NAME, **lease)) == (403, "not-allowed")
    assert refused(posted(node, [loss(5)], 0, "", **lease)) == (403, "not-allowed")
    assert FolderJournal(state).count == 0


@pytest.mark.parametrize(
    "record",
    [
        RetractRecord(of=1),
        LearntRecord(of=Learnt(segment=5, end=7, at=7)),
        CompactedRecord(),
        StateRecord(id="x"),
    ],
)
def test_what_readers_do_not_write_is_refused(record: AnyRecord, node: ServedNode, state: Path) -> None:
    assert refused(posted(node, [record], 0, NAME, **taken(node))) == (400, "refused")
    assert FolderJournal(state).count == 0


def test_definitions_from_outside_the_log_are_taken_as_they_are(
    node: ServedNode, log: LogFolder, tmp_path: Path
) -> None:
    (told, *_) = [each for each in said_by(log.path, tmp_path / "mine") if isinstance(each, SchemaRecord)]
    outside = OwnSchemaRecord(at=Position(0, 0), source="file tables.cql", deltas=told.deltas, asked=7, consumer=NAME)
    answer = posted(node, [outside], 0, NAME, **taken(node))
    assert answer.json == {"numbers": [1]}
    assert records_of(node).records == [msgspec.structs.replace(outside, n=1)]


# What the log says itself


def test_what_the_log_says_is_derived_from_it(node: ServedNode, log: LogFolder, state: Path, tmp_path: Path) -> None:
    told = said_by(log.path, tmp_path / "mine")
    assert {type(record) for record in told} == {SchemaRecord, SegmentEndRecord}
    expected, numbers = 0, []
    for record in told:
        answer = posted(node, [record], expected)
        assert answer.status == 200, answer.body
        numbers += answer.json["numbers"]
        expected = records_of(node).count
    by_number = {record.n: record for record in FolderJournal(state).read()}
    assert [content(by_number[number]) for number in numbers] == [content(record) for record in told]
    # Nothing was journalled twice.
    own = [content(record) for record in by_number.values()]
    assert len(own) == len(set(own))


def test_what_is_asked_for_out_of_order_is_derived_too(node: ServedNode, log: LogFolder, tmp_path: Path) -> None:
    told = said_by(log.path, tmp_path / "mine")
    for record in reversed(told):
        answer = posted(node, [record], records_of(node).count)
        # A definition may have been found by now from a lower position on: then there is nothing new to post.
        assert answer.status == 200, answer.body


def test_several_at_once_are_derived_at_once(node: ServedNode, log: LogFolder, tmp_path: Path) -> None:
    told = said_by(log.path, tmp_path / "mine")
    assert len(posted(node, told, 0).json["numbers"]) == len(told)
    assert len(set(posted(node, told, 0).json["numbers"])) == len(told)


def test_what_grows_is_derived_as_it_grows(node: ServedNode, log: LogFolder, tmp_path: Path) -> None:
    before = said_by(log.path, tmp_path / "mine")
    assert posted(node, before, 0).status == 200
    writer = segment(3)
    writer.section([alter_payload(TABLE, Column("later", "regular", "int"))])
    log.put(writer, live(writer))
    (fresh,) = [record for record in said_by(log.path, tmp_path / "mine") if record.n > before[-1].n]
    assert posted(node, [fresh], records_of(node).count).status == 200
    log.put(writer, completed(writer))
    next_one = segment(4)
    log.put(next_one, live(next_one))
    ends = [each for each in said_by(log.path, tmp_path / "mine") if isinstance(each, SegmentEndRecord)]
    assert posted(node, ends, records_of(node).count).status == 200


def test_a_log_end_that_was_seen_in_another_way_is_the_same_end(
    node: ServedNode, log: LogFolder, tmp_path: Path
) -> None:
    (end, *_) = [each for each in said_by(log.path, tmp_path / "mine") if isinstance(each, SegmentEndRecord)]
    assert posted(node, [msgspec.structs.replace(end, published=end.published - 5)], 0).status == 200


@pytest.mark.parametrize("what", ["deltas", "at", "end", "segment"])
def test_what_the_log_does_not_say_is_not_derived(
    what: str, node: ServedNode, log: LogFolder, state: Path, tmp_path: Path
) -> None:
    told = said_by(log.path, tmp_path / "mine")
    schema, end = told[0], next(each for each in told if isinstance(each, SegmentEndRecord))
    assert isinstance(schema, SchemaRecord)
    wrong: AnyRecord = {
        "deltas": msgspec.structs.replace(schema, deltas=schema.deltas[:-1]),
        "at": msgspec.structs.replace(schema, at=Position(schema.at.segment, schema.at.offset + 1)),
        "end": msgspec.structs.replace(end, end=end.end + 1),
        "segment": msgspec.structs.replace(end, segment=FIRST + 50),
    }[what]
    answer = posted(node, [wrong], 0)
    # The node has journalled what it has found on the way, if that was anything.
    assert refused(answer) in ((409, "behind"), (409, "not-derived"))
    answer = posted(node, [wrong], records_of(node).count)
    assert refused(answer) == (409, "not-derived")
    assert answer.json["code"] in (1, 5)
    assert content(wrong) not in {content(record) for record in FolderJournal(state).read()}


def test_the_nodes_own_error_is_told(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "cdc_raw")
    writer = segment_of(FIRST, [[create_payload(TABLE)]], form=AES)
    folder.put(writer, completed(writer))
    end = SegmentEndRecord(segment=FIRST, published=writer.end, end=writer.end, finished="completed")
    with served(folder.path) as node:
        answer = posted(node, [end], 0)
    assert refused(answer) == (409, "not-derived")
    assert answer.json["code"] == 3


def test_definitions_of_a_native_log_are_derived(tmp_path: Path) -> None:
    writers = [NativeWriter(FIRST), NativeWriter(FIRST + 1)]
    for writer in writers:
        writer.section([ORDERS.definition, put(1, "a")])
        writer.section([NOTES.definition, put(2, "b")])
    folder = folder_of(tmp_path, *writers, live=True)
    told = said_by(folder, tmp_path / "mine")
    assert {type(record) for record in told} == {DefinitionRecord, SegmentEndRecord}
    with served(folder) as node:
        for record in told:
            answer = posted(node, [record], records_of(node).count)
            assert answer.status == 200, answer.body
        stranger = next(record for record in told if isinstance(record, DefinitionRecord))
        wrong = msgspec.structs.replace(stranger, fp="00" * 8)
        assert refused(posted(node, [wrong], records_of(node).count)) == (409, "not-derived")


def test_a_node_that_is_restarted_derives_the_same(node: ServedNode, log: LogFolder, tmp_path: Path) -> None:
    told = said_by(log.path, tmp_path / "mine")
    first = posted(node, told, 0).json
    node.stop()
    with served(log.path) as after:
        assert posted(after, told, 0).json == first
        count = records_of(after).count
        assert posted(after, told, 0).status == 200
        assert records_of(after).count == count
