"""Which client's requests may write which record: each kind of the protocol, in whose name, with and without a lease.

The kinds are the protocol's own list (`AnyRecord`): one that has no row in `TABLE` fails.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

import msgspec
import pytest

from tailer.position import Position
from tailer.schema.masks import Masks
from tailer.schema.model import Column, TableDefinition
from tailer.schema.ring import Primaries
from tailer.serve.clients import Client, Clients
from tailer.state.affected import affects, consumer_of
from tailer.state.cleaned import CleanedFile, write_cleaned
from tailer.state.consumers import ConsumerFile, NodeState, write_consumer
from tailer.state.folder_journal import FolderJournal
from tailer.state.holds import read_holds
from tailer.state.ids import Ids
from tailer.state.ids_json import to_texts
from tailer.state.journal_records import (
    LOG,
    Affects,
    AnyRecord,
    AppearedRecord,
    CompactedRecord,
    DefinitionRecord,
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
    StateRecord,
    TimesRecord,
    content,
)
from tailer.state.learnt import Learnt
from tailer.state.offset import NodeOffset
from tailer.state.segment_times import SegmentTimes
from tests.helpers.log_writer import LogFolder, one_row_log, simple_table
from tests.helpers.served import Answer, ServedNode, served

FIRST = 1_700_000_000_001
AT = Position(FIRST, 40)
READER = "r"


class Asking(NamedTuple):
    """A client, what else it has, and its consumer."""

    name: str
    prefix: str

    @property
    def consumer(self) -> str:
        return f"{self.prefix}one"

    def token(self, right: str = "") -> str:
        return f"a-token-of-{self.name}{right}-long-enough"

    def clients(self) -> list[tuple[bytes, Client]]:
        return [
            (self.token().encode(), Client(self.name, self.prefix)),
            (self.token("-ro").encode(), Client(f"{self.name}-ro", self.prefix, read_only=True)),
            (self.token("-all").encode(), Client(f"{self.name}-all", self.prefix, defines_for_all=True)),
        ]


ANNA, BERT = Asking("anna", "a-"), Asking("bert", "b-")

Writer = Literal["consumer", "log", "right", "node"]
"""Who writes a record: the reader that has its consumer's lease; nobody, the node finds it in its log; a client with
the right `defines_for_all`; the node alone."""


class Row(NamedTuple):
    writer: Writer
    record: Callable[[str], AnyRecord]
    """Of a consumer's name; false, where the log could say it."""


def schema(source: str) -> SchemaRecord:
    return SchemaRecord(at=AT, source=source, deltas=())


def end(consumer: str | None) -> SegmentEndRecord:
    return SegmentEndRecord(segment=FIRST, published=7, end=7, finished="completed", consumer=consumer)


_NATIVE: Final = TableDefinition("ab" * 16, "ks", "t", (Column("pk", "partition_key", "int", 0),))

TABLE: Final[dict[type, list[Row]]] = {
    SchemaRecord: [
        Row("log", lambda name: schema(LOG)),
        Row("right", lambda name: schema("file x.cql")),
        Row("right", lambda name: schema("server h")),
        Row("right", lambda name: schema("node n")),
    ],
    OwnSchemaRecord: [
        Row("consumer", lambda name: OwnSchemaRecord(at=AT, source="file x.cql", deltas=(), consumer=name)),
        Row("consumer", lambda name: OwnSchemaRecord(at=AT, source="server h", deltas=(), consumer=name)),
        Row("consumer", lambda name: OwnSchemaRecord(at=AT, source="node n", deltas=(), consumer=name)),
    ],
    DefinitionRecord: [Row("log", lambda name: DefinitionRecord(at=AT, fp="00" * 8, definition=_NATIVE))],
    StartRecord: [Row("consumer", lambda name: StartRecord(consumer=name, segment=FIRST))],
    SegmentEndRecord: [Row("log", lambda name: end(None)), Row("consumer", end)],
    RetractRecord: [Row("node", lambda name: RetractRecord(of=1))],
    SkipRecord: [Row("consumer", lambda name: SkipRecord(consumer=name, at=AT, reason="r", lost=7))],
    ReplayedRecord: [Row("consumer", lambda name: ReplayedRecord(consumer=name, node="n", at=AT))],
    LossRecord: [Row("consumer", lambda name: LossRecord(consumer=name, start=AT, end=Position(FIRST + 1, 0)))],
    OptionsRecord: [Row("consumer", lambda name: OptionsRecord(consumer=name, options={"a": 1}))],
    MasksRecord: [Row("consumer", lambda name: MasksRecord(consumer=name, masks=Masks()))],
    GenerationRecord: [Row("consumer", lambda name: GenerationRecord(consumer=name, generation=2))],
    RecountRecord: [Row("consumer", lambda name: RecountRecord(consumer=name, at=AT, j=0, upto=1))],
    MemoryRecord: [Row("consumer", lambda name: MemoryRecord(consumer=name, node="n"))],
    AppearedRecord: [Row("consumer", lambda name: AppearedRecord(consumer=name, segment=7, behind=9, end=None))],
    OwnAppearedRecord: [Row("consumer", lambda name: OwnAppearedRecord(consumer=name, segment=8, behind=9, end=None))],
    LearntRecord: [Row("node", lambda name: LearntRecord(of=Learnt(segment=FIRST, end=7, at=7)))],
    TimesRecord: [Row("node", lambda name: TimesRecord(segment=FIRST, times=SegmentTimes()))],
    RingRecord: [Row("consumer", lambda name: RingRecord(consumer=name, node="n", source="s", primaries=Primaries()))],
    CompactedRecord: [Row("node", lambda name: CompactedRecord())],
    StateRecord: [Row("node", lambda name: StateRecord(id="00" * 8))],
}

ROWS: Final = [
    pytest.param(row, id=f"{kind.__name__}-{number}") for kind, rows in TABLE.items() for number, row in enumerate(rows)
]

# Lease of the own consumer; the record names, and the request asks for, another client's; no lease; a token that may
# only read; a lease that another reader has taken since.
Way = Literal["own", "other", "no lease", "read only", "lease lost"]

EXPECTED: Final[dict[Writer, dict[Way, tuple[int, str]]]] = {
    "consumer": {
        "own": (200, ""),
        "other": (403, "not-allowed"),
        "no lease": (409, "no-lease"),
        "read only": (403, "not-allowed"),
        "lease lost": (409, "superseded"),
    },
    "log": {
        "own": (409, "not-derived"),
        "other": (409, "not-derived"),
        "no lease": (409, "not-derived"),
        "read only": (403, "not-allowed"),
        "lease lost": (409, "not-derived"),
    },
    "right": {
        "own": (403, "not-allowed"),
        "other": (403, "not-allowed"),
        "no lease": (403, "not-allowed"),
        "read only": (403, "not-allowed"),
        "lease lost": (403, "not-allowed"),
    },
    "node": {
        "own": (400, "refused"),
        "other": (400, "refused"),
        "no lease": (400, "refused"),
        "read only": (403, "not-allowed"),
        "lease lost": (400, "refused"),
    },
}


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    return one_row_log(tmp_path / "cdc_raw", simple_table("ks", "t"), FIRST, 1)


@pytest.fixture
def node(log: LogFolder, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedNode]:
    monkeypatch.setattr("tailer.serve.own_reading._NOT_VISIBLE_SECONDS", 0.0)
    with served(log.path, clients=Clients({}, [*ANNA.clients(), *BERT.clients()])) as found:
        for each in (ANNA, BERT):
            taken(found, each)
        yield found


def taken(node: ServedNode, who: Asking, reader: str = READER) -> dict[str, str]:
    """The headers of who takes its consumer."""
    answer = node.ask("PUT", f"/consumers/{who.consumer}", {"reader": reader}, token=who.token())
    assert answer.status == 200, answer.body
    return {"X-Cdc-Lease": str(answer.json["version"]), "X-Cdc-Reader": reader}


def lost(node: ServedNode, who: Asking) -> dict[str, str]:
    """Of one whose consumer another reader took since."""
    before = taken(node, who)
    given = {"reader": READER, "version": int(before["X-Cdc-Lease"]), "gives_back": True}
    assert node.ask("PUT", f"/consumers/{who.consumer}", given, token=who.token()).status == 200
    taken(node, who, "another")
    return before


def posted(node: ServedNode, token: str, record: AnyRecord, asked_as: str, headers: dict[str, str]) -> Answer:
    """With the number of records that there are: what the node finds on its way comes first."""
    told = msgspec.to_builtins(record, enc_hook=to_texts)
    while True:
        count = node.ask("GET", "/records?from=0", token=token).json["count"]
        asked = {"expected": count, "records": [told], "consumer": asked_as}
        answer = node.ask("POST", "/records", asked, headers, token=token)
        if answer.status == 200 or answer.error != "behind":
            return answer


def asked(node: ServedNode, who: Asking, other: Asking, row: Row, way: Way, right: str = "") -> list[Answer]:
    """What is answered to each form of a request of that way."""
    own, token = who.consumer, who.token(right)
    match way:
        case "own":
            return [posted(node, token, row.record(own), own, taken(node, who))]
        case "other":
            # In its name under the own lease, and as it, under the own lease or under the other's.
            theirs, mine = other.consumer, taken(node, who)
            ways = [(own, mine), (theirs, mine), (theirs, taken(node, other)), ("", mine)]
            return [posted(node, token, row.record(theirs), asked_as, headers) for asked_as, headers in ways]
        case "no lease":
            return [posted(node, token, row.record(own), own, {})]
        case "read only":
            return [posted(node, who.token("-ro"), row.record(own), own, taken(node, who))]
        case "lease lost":
            return [posted(node, token, row.record(own), own, lost(node, who))]


def test_every_kind_of_the_protocol_has_a_row() -> None:
    assert set(TABLE) == set(get_args(AnyRecord))
    for kind, rows in TABLE.items():
        assert all(isinstance(row.record("x"), kind) for row in rows)


@pytest.mark.parametrize("kind", TABLE)
def test_the_page_names_every_kind(kind: type[msgspec.Struct]) -> None:
    assert f"`{kind.__struct_config__.tag}`" in Path("docs/serve.md").read_text()


@pytest.mark.parametrize("kind", TABLE)
def test_every_kind_states_whom_it_affects(kind: type) -> None:
    # Stated by itself, not taken over from another kind.
    stated = vars(kind)["affects"]
    writers = {row.writer for row in TABLE[kind]}
    assert {
        Affects.NAMED: writers == {"consumer"},
        Affects.NAMED_OR_ALL: writers == {"consumer", "log"},
        Affects.ALL: "consumer" not in writers,
    }[stated]


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize(("who", "other"), [(ANNA, BERT), (BERT, ANNA)], ids=["anna", "bert"])
def test_who_may_write_what(row: Row, who: Asking, other: Asking, node: ServedNode, log: LogFolder) -> None:
    state = log.path.with_name("cdc_raw.cdc_tail")
    known = {content(record) for record in FolderJournal(state).read()}
    for way, expected in EXPECTED[row.writer].items():
        answers = asked(node, who, other, row, way)
        assert {(each.status, "" if each.status == 200 else each.error) for each in answers} == {expected}, way
    for record in FolderJournal(state).read():
        if content(record) in known or (consumer_of(record) is None and from_log(record)):
            continue
        # Nobody but the consumer that asked is affected: no other consumer, and no run without one.
        assert consumer_of(record) == who.consumer
        assert not affects(record, other.consumer)
        assert not affects(record, None)


def from_log(record: AnyRecord) -> bool:
    """Whether the node has found it in its log, and it is none of the false ones."""
    false = {content(row.record(ANNA.consumer)) for rows in TABLE.values() for row in rows}
    return content(record) not in false


@pytest.mark.parametrize("row", [row for rows in TABLE.values() for row in rows if row.writer == "right"])
def test_who_may_define_for_all(row: Row, node: ServedNode, log: LogFolder) -> None:
    """The right replaces no lease, and covers nothing but definitions."""
    expected: dict[Way, list[tuple[int, str]]] = {
        "no lease": [(409, "no-lease")],
        "read only": [(403, "not-allowed")],
        # It names nobody: it is written under the own lease, and under no other one.
        "other": [(200, ""), (403, "not-allowed"), (403, "not-allowed"), (409, "no-lease")],
        "own": [(200, "")],
        "lease lost": [(409, "superseded")],
    }
    for way, found in expected.items():
        answers = asked(node, ANNA, BERT, row, way, "-all")
        assert [(each.status, "" if each.status == 200 else each.error) for each in answers] == found, way
    state = log.path.with_name("cdc_raw.cdc_tail")
    (given,) = [each for each in FolderJournal(state).read() if isinstance(each, SchemaRecord) and each.source != LOG]
    assert affects(given, BERT.consumer)
    for kind, rows in TABLE.items():
        if Affects.ALL is vars(kind)["affects"] and rows[0].writer == "node":
            assert asked(node, BERT, ANNA, rows[0], "own", "-all")[0].status == 400


@pytest.mark.parametrize("source", ["", LOG, "files", "log file x"])
def test_a_definition_says_where_it_comes_from(source: str, node: ServedNode) -> None:
    record = OwnSchemaRecord(at=AT, source=source, deltas=(), consumer=ANNA.consumer)
    answer = posted(node, ANNA.token(), record, ANNA.consumer, taken(node, ANNA))
    assert (answer.status, answer.error) == (400, "refused")
    assert "node " in answer.json["expected"]


# What is shown


@pytest.fixture
def shared(node: ServedNode, log: LogFolder) -> Path:
    """A consumer of each client, and one of the node, with records and positions."""
    state = log.path.with_name("cdc_raw.cdc_tail")
    for name in (ANNA.consumer, BERT.consumer):
        own = OwnSchemaRecord(at=AT, source="file x", deltas=(), consumer=name)
        decided = [SkipRecord(consumer=name, at=AT, reason="r", lost=7), MasksRecord(consumer=name, masks=Masks())]
        FolderJournal(state).append([own, *decided, end(name)])
        offset = NodeOffset(0, FIRST, 0, False)
        write_consumer(state, ConsumerFile(name, {"local": NodeState(offset)}))
        with (state / "consumers" / f"{name}-broken.json").open("w") as broken:
            broken.write("no json")
    FolderJournal(state).append([LossRecord(consumer="beside", start=AT, end=AT), schema(LOG), end(None)])
    lost = {name: Ids.of([number]) for number, name in enumerate((ANNA.consumer, BERT.consumer, "beside"), 1)}
    write_cleaned(state, CleanedFile(segments=Ids.of([1, 2, 3]), lost=lost))
    return state


@pytest.mark.parametrize(("who", "other"), [(ANNA, BERT), (BERT, ANNA)], ids=["anna", "bert"])
def test_a_client_sees_its_own_consumers_alone(who: Asking, other: Asking, shared: Path, node: ServedNode) -> None:
    for right in ("", "-ro", "-all"):
        for path in ("/records", "/records?from=1", "/status", "/consumers", "/segments"):
            text = node.ask("GET", path, token=who.token(right)).body.decode()
            assert other.consumer not in text, path
            assert "beside" not in text, path
    answer = node.ask("GET", "/records", token=who.token()).json
    assert answer["count"] == 11
    named = [record.get("consumer") for record in answer["records"]]
    assert (named.count(who.consumer), named.count(None), len(named)) == (4, 2, 6)
    status = node.ask("GET", "/status", token=who.token()).json
    assert [each["consumer"] for each in status["consumers"]] == [who.consumer]
    assert {name for each in status["segments"] for name in each["needed_by"]} == {who.consumer}
    # Broken files are told of, and not whose they are.
    assert status["problems"] == [status["clean"]["refused"]]


def lost_in(answer: Answer) -> dict[str, list[str]]:
    found: dict[str, list[str]] = answer.json["cleaned"]["lost"]
    return found


def test_a_client_hears_of_its_own_losses_alone(shared: Path, node: ServedNode) -> None:
    """Whoever asks before it, and in whatever way the list comes: whole, what differs, or once something does."""
    whole = {who: node.ask("GET", "/segments", token=who.token()) for who in (ANNA, BERT, ANNA)}
    assert {who: lost_in(answer) for who, answer in whole.items()} == {
        ANNA: {ANNA.consumer: ["1 0"]},
        BERT: {BERT.consumer: ["2 0"]},
    }
    kept = json.loads((shared / "cleaned.json").read_text())
    assert {**whole[ANNA].json["cleaned"], "lost": {}} == {**kept, "lost": {}}
    etag = whole[ANNA].json["etag"]
    waited: dict[Asking, Answer] = {}

    def wait(who: Asking) -> None:
        waited[who] = node.ask("GET", f"/segments?etag={etag}&wait=20s", token=who.token())

    threads = [threading.Thread(target=wait, args=[who]) for who in (ANNA, BERT)]
    for each in threads:
        each.start()
    while node.counted.waiting < 2:
        time.sleep(0.01)
    lost = {ANNA.consumer: Ids.of([4]), BERT.consumer: Ids.of([5])}
    write_cleaned(shared, CleanedFile(segments=Ids.of([1, 2, 3]), lost=lost))
    for each in threads:
        each.join()
    assert {who: lost_in(answer) for who, answer in waited.items()} == {
        ANNA: {ANNA.consumer: ["4 0"]},
        BERT: {BERT.consumer: ["5 0"]},
    }
    assert all(answer.json["since"] == etag for answer in waited.values())


def test_who_may_have_every_consumer_sees_all_of_it(shared: Path, log: LogFolder) -> None:
    with served(log.path) as found:
        assert lost_in(found.ask("GET", "/segments")).keys() == {ANNA.consumer, BERT.consumer, "beside"}


def test_records_of_others_between_own_ones_leave_gaps(
    shared: Path, node: ServedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few fit into one answer, a reader comes to the end and knows how many there are."""
    monkeypatch.setattr("tailer.serve.records.RECORDS_BYTES_MAX", 1)
    numbers, after = [], 0
    for _ in range(20):
        answer = node.ask("GET", f"/records?from={after}&base=0", token=BERT.token()).json
        numbers += [record["n"] for record in answer["records"]]
        if not answer.get("more"):
            break
        after = numbers[-1]
    assert numbers == [5, 6, 7, 8, 10, 11]
    assert node.ask("GET", "/records?from=8", token=BERT.token()).json["count"] == 11


# Holds


def named(tokens: dict[str, str]) -> Clients:
    return Clients({}, [(token.encode(), Client(name)) for name, token in tokens.items()])


@pytest.mark.parametrize(
    ("one", "two"),
    [("spark", "spark-x"), ("a b", "a-b"), ("a_b", "a-b"), ("x" * 50, "x" * 51), ("Spark", "spark"), ("ä", "ö")],
)
def test_no_client_touches_a_hold_of_another(one: str, two: str, log: LogFolder) -> None:
    """Whatever its name is, and whatever it calls its holds."""
    tokens = {one: "a-token-of-the-first-client", two: "a-token-of-the-second-client"}
    state = log.path.with_name("cdc_raw.cdc_tail")
    far, near = ({"node": "local", "segment": segment, "seconds": 3600.0} for segment in (FIRST, FIRST + 5))
    with served(
        log.path, clients=Clients({}, [(token.encode(), Client(name)) for name, token in tokens.items()])
    ) as node:
        assert node.ask("PUT", "/holds/job", far, token=tokens[two]).status == 200
        (kept,) = (state / "consumers").glob("*.hold")
        # Its own name, and each part of the other one's file name behind a sign that may be in a name.
        stem = kept.stem
        guessed = ["job", "x-job", *(stem[at + 1 :] for at, sign in enumerate(stem) if sign in "-_.")]
        for name in guessed:
            assert node.ask("PUT", f"/holds/{name}", near, token=tokens[one]).status in (200, 403, 400)
            assert node.ask("DELETE", f"/holds/{name}", token=tokens[one]).status in (200, 400)
        assert [each.segment for each in read_holds(state, 0.0)] == [FIRST]
        assert node.ask("DELETE", "/holds/job", token=tokens[two]).status == 200
        assert read_holds(state, 0.0) == []


def test_holds_of_one_client_take_no_room_of_another(log: LogFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailer.serve.holds.HOLDS_MAX", 2)
    tokens = {"spark": "a-token-of-the-first-client", "spark-x": "a-token-of-the-second-client"}
    asked = {"node": "local", "segment": FIRST, "seconds": 3600.0}
    with served(
        log.path, clients=Clients({}, [(token.encode(), Client(name)) for name, token in tokens.items()])
    ) as node:
        for name in ("1", "2"):
            assert node.ask("PUT", f"/holds/{name}", asked, token=tokens["spark-x"]).status == 200
        answers = [node.ask("PUT", f"/holds/{name}", asked, token=tokens["spark"]).status for name in ("1", "2", "3")]
        assert answers == [200, 200, 403]
