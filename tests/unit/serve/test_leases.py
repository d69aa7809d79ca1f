"""Consumers over HTTP: whose a name is, what moves it, what drops it, and how processes of the node see it."""

from __future__ import annotations

import contextlib
import errno
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tailer.errors import RefusedError
from tailer.retention.clean import CleanOptions, clean
from tailer.retention.move_consumer import drop_consumer
from tailer.retention.needed import Ages
from tailer.state.cleaned import CleanedFile, write_cleaned
from tailer.state.consumer import Consumer
from tailer.state.consumers import (
    NodeState,
    consumer_names,
    consumer_path,
    is_running,
    read_consumer,
    target_away,
)
from tailer.state.folder_journal import FolderJournal
from tailer.state.holds import read_holds
from tailer.state.ids import Ids
from tailer.state.lock import state_lock
from tailer.state.offset import Memory, NodeOffset
from tailer.state.quarantine import quarantine_path, whole_records
from tests.helpers.log_writer import LogFolder, one_row_log, simple_table
from tests.helpers.served import Answer, ServedNode, served

FIRST = 1_700_000_000_001
NAME = "billing"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    return one_row_log(tmp_path / "cdc_raw", simple_table("ks", "t"), FIRST, 3)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def node(log: LogFolder, clock: Clock) -> Iterator[ServedNode]:
    with served(log.path, clock=clock, wall=clock) as found:
        yield found


def put(node: ServedNode, reader: str, version: int = 0, **more: Any) -> Answer:
    return node.ask("PUT", f"/consumers/{NAME}", {"reader": reader, "version": version, **more})


def taken(node: ServedNode, reader: str) -> int:
    """The version that a reader gets for the name."""
    answer = put(node, reader)
    assert answer.status == 200, answer.body
    version: int = answer.json["version"]
    return version


def stands(segment: int, offset: int = 0, **more: Any) -> dict[str, Any]:
    """A consumer's file."""
    place = {"j": 0, "s": segment, "o": offset, "done": False, "p": [], "id": ""}
    return {"name": NAME, "nodes": {"n": {"offset": place, "restart": [segment, offset], **more}}, "v": 3, "moved": 7.0}


def registered(node: ServedNode, reader: str, segment: int = FIRST) -> int:
    """The version of a reader who has registered the consumer."""
    version = taken(node, reader)
    answer = put(node, reader, version, file=stands(segment), registers=True, cleaned_tag="none")
    assert answer.status == 200, answer.body
    return version


def file_of(state: Path) -> NodeState:
    return read_consumer(consumer_path(state, NAME), NAME).nodes["n"]


def refused(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.error


def test_a_name_is_its_readers_for_a_minute(node: ServedNode, clock: Clock) -> None:
    answer = put(node, "one", program="follow", host="far")
    assert answer.json == {"version": 1, "seconds": 60.0, "id": node.ask("GET", "/segments").headers["X-Cdc-Folder"]}
    clock.now += 20
    other = put(node, "two")
    assert refused(other) == (409, "leased")
    assert (other.json["after"], other.json["what"]) == (40.0, "the consumer is in use by follow on far")
    clock.now += 41
    assert taken(node, "two") == 2
    assert refused(put(node, "one", 1)) == (409, "superseded")


def test_any_call_renews(node: ServedNode, clock: Clock) -> None:
    version = taken(node, "one")
    headers = {"X-Cdc-Lease": str(version), "X-Cdc-Reader": "one"}
    for path in ("/segments", "/records", f"/segments/CommitLog-7-{FIRST}.log", "/status"):
        clock.now += 50
        assert node.ask("GET", path, headers=headers).status == 200
    clock.now += 50
    assert put(node, "one", version).json["seconds"] == 60.0
    clock.now += 50
    assert refused(put(node, "two")) == (409, "leased")
    # Those of others do not.
    for wrong in ({"X-Cdc-Lease": "7", "X-Cdc-Reader": "one"}, {"X-Cdc-Lease": "1", "X-Cdc-Reader": "two"}):
        node.ask("GET", "/segments", headers=wrong)
    clock.now += 11
    assert taken(node, "two") == 2


def test_a_lease_that_ended_and_nobody_took_goes_on(node: ServedNode, clock: Clock, state: Path) -> None:
    version = registered(node, "one")
    clock.now += 1000
    node.run(node.node.sweep())
    assert not is_running(state, NAME)
    assert put(node, "one", version, file=stands(FIRST + 1)).status == 200
    assert (file_of(state).offset.s, is_running(state, NAME)) == (FIRST + 1, True)


def test_taking_again_says_the_same(node: ServedNode, clock: Clock) -> None:
    """Its answer may have been lost."""
    assert [taken(node, "one"), taken(node, "one")] == [1, 1]
    clock.now += 61
    assert taken(node, "one") == 2


def test_a_name_that_is_given_back_is_free(node: ServedNode, state: Path) -> None:
    version = registered(node, "one")
    assert put(node, "one", version, file=stands(FIRST + 1), gives_back=True).status == 200
    assert not is_running(state, NAME)
    assert file_of(state).offset.s == FIRST + 1
    assert taken(node, "two") == version + 1


def test_the_version_rises_over_restarts(node: ServedNode, log: LogFolder, clock: Clock) -> None:
    version = registered(node, "one")
    node.stop()
    with served(log.path, clock=clock, wall=clock) as after:
        answer = put(after, "one", version)
        assert refused(answer) == (409, "no-lease")
        # Another one waits as long as the first may think that it has the name.
        other = put(after, "two")
        assert (*refused(other), other.json["after"]) == (409, "leased", 60.0)
        assert taken(after, "one") == version + 1
        assert refused(put(after, "one", version)) == (409, "superseded")
        after.stop()
    with served(log.path, clock=clock, wall=clock) as later:
        clock.now += 61
        assert taken(later, "two") == version + 2


def test_what_was_given_back_before_a_restart_is_free_at_once(node: ServedNode, log: LogFolder, clock: Clock) -> None:
    put(node, "one", registered(node, "one"), gives_back=True)
    node.stop()
    with served(log.path, clock=clock, wall=clock) as after:
        assert taken(after, "two") == 2


def test_a_version_that_never_was_is_no_lease(node: ServedNode) -> None:
    assert refused(put(node, "one", 5)) == (409, "no-lease")
    assert taken(node, "one") == 1
    assert refused(put(node, "one", 5)) == (409, "no-lease")
    assert refused(put(node, "two", 1)) == (409, "superseded")


# Processes of the node


def test_a_process_of_the_node_keeps_readers_out(node: ServedNode, state: Path) -> None:
    with contextlib.closing(Consumer(state, NAME)):
        answer = put(node, "one")
        assert (*refused(answer), answer.json["after"]) == (409, "leased", 60.0)
        assert "process" in answer.json["what"]
        assert node.ask("GET", "/consumers").json["consumers"] == {}
    assert taken(node, "one") == 1


def test_a_reader_keeps_processes_of_the_node_out(node: ServedNode, state: Path, clock: Clock) -> None:
    put(node, "one", program="follow", host="far")
    with pytest.raises(RefusedError, match="in use by follow on far, by `cdc-tail serve`"):
        Consumer(state, NAME, 0.0)
    clock.now += 61
    node.run(node.node.sweep())
    Consumer(state, NAME, 0.0).close()


def test_who_is_late_finds_that_a_process_moved_the_consumer(node: ServedNode, state: Path, clock: Clock) -> None:
    version = registered(node, "one")
    clock.now += 61
    node.run(node.node.sweep())
    with contextlib.closing(Consumer(state, NAME)) as local:
        moved = local.node("n")
        assert moved is not None
        local.save("n", NodeState(NodeOffset(s=FIRST + 2), Memory()), moved=1.0, program="test")
        assert refused(put(node, "one", version)) == (409, "superseded")
    assert refused(put(node, "one", version, file=stands(FIRST))) == (409, "superseded")
    assert file_of(state).offset.s == FIRST + 2
    assert taken(node, "one") == version + 2


def test_who_is_late_goes_on_where_a_process_only_looked(node: ServedNode, state: Path, clock: Clock) -> None:
    version = registered(node, "one")
    clock.now += 61
    node.run(node.node.sweep())
    Consumer(state, NAME).close()
    assert put(node, "one", version).status == 200


# Moving


def test_registering_says_where_the_list_of_cleaned_segments_stood(node: ServedNode, state: Path) -> None:
    version = taken(node, "one")
    write_cleaned(state, CleanedFile(segments=Ids.of([5])))
    answer = put(node, "one", version, file=stands(FIRST), registers=True, cleaned_tag="none")
    assert refused(answer) == (409, "cleaned")
    assert consumer_names(state) == []
    tag = node.ask("GET", "/segments").json["cleanedTag"]
    assert put(node, "one", version, file=stands(FIRST), registers=True, cleaned_tag=tag).status == 200
    assert file_of(state).offset.s == FIRST


def test_registering_waits_for_clean(node: ServedNode, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = taken(node, "one")
    asked = {"file": stands(FIRST), "registers": True, "cleaned_tag": "none"}
    monkeypatch.setattr("tailer.serve.threads.BUSY_SECONDS", 0.3)
    with state_lock(state):
        answer = put(node, "one", version, **asked)
        assert refused(answer) == (503, "failed")
        assert "`clean` runs" in answer.json["what"]
    assert put(node, "one", version, **asked).status == 200


def test_who_begins_must_register(node: ServedNode, state: Path) -> None:
    version = taken(node, "one")
    assert refused(put(node, "one", version, file=stands(FIRST))) == (400, "refused")
    assert consumer_names(state) == []


def test_a_position_is_durable_and_by_the_nodes_clock(node: ServedNode, state: Path, clock: Clock) -> None:
    version = registered(node, "one")
    clock.now += 30
    assert put(node, "one", version, file=stands(FIRST + 1, 5)).status == 200
    file = read_consumer(consumer_path(state, NAME), NAME)
    assert (file.nodes["n"].offset.position, file.moved) == ((FIRST + 1, 5), clock.now)


def test_an_equal_repeat_writes_nothing(node: ServedNode, state: Path) -> None:
    version = registered(node, "one")
    assert put(node, "one", version, file=stands(FIRST + 1)).status == 200
    before = consumer_path(state, NAME).stat()
    for _ in range(2):
        assert put(node, "one", version, file={**stands(FIRST + 1), "moved": 9.0}).status == 200
    after = consumer_path(state, NAME).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_an_older_version_moves_nothing(node: ServedNode, state: Path, clock: Clock) -> None:
    version = registered(node, "one")
    clock.now += 61
    assert taken(node, "two") == version + 1
    for asked in ({"file": stands(FIRST + 2)}, {}, {"gives_back": True}, {"away": "it is away"}):
        assert refused(put(node, "one", version, **asked)) == (409, "superseded")
    assert refused(node.ask("DELETE", f"/consumers/{NAME}", headers=claim("one", version))) == (409, "superseded")
    assert file_of(state).offset.s == FIRST


def test_taking_says_where_the_consumer_stands(node: ServedNode, clock: Clock) -> None:
    put(node, "one", registered(node, "one"), file=stands(FIRST + 1), gives_back=True)
    found = put(node, "two").json["file"]
    assert (found["name"], found["nodes"]["n"]["offset"]["s"]) == (NAME, FIRST + 1)
    assert node.ask("GET", f"/consumers/{NAME}").json["file"] == found
    told = node.ask("GET", "/consumers").json["consumers"][NAME]
    assert (told["file"], told["held"]) == (found, "a reader on another machine")


@pytest.mark.parametrize(
    "file",
    [
        {**stands(FIRST), "name": "other"},
        {**stands(FIRST), "v": 4},
        {**stands(FIRST), "v": 2},
        stands(-1),
        stands(2**63),
        stands(FIRST, memory={"seen": ["5 0"]}),
        stands(FIRST, memory={"upto": 10**9}),
        {**stands(FIRST), "nodes": {"": stands(FIRST)["nodes"]["n"]}},
        {**stands(FIRST), "nodes": {"n": {"offset": {"j": 5, "s": 1, "id": "another"}}}},
        {**stands(FIRST), "nodes": {"n": {"offset": {"j": 10**6, "s": 1, "id": "ID"}}}},
    ],
)
def test_a_file_that_would_not_be_understood_is_not_written(
    file: dict[str, Any], node: ServedNode, state: Path
) -> None:
    version = taken(node, "one")
    text = json.dumps(file).replace("ID", node.ask("GET", "/segments").headers["X-Cdc-Folder"])
    answer = put(node, "one", version, file=json.loads(text), registers=True, cleaned_tag="none")
    assert answer.status in (400, 409)
    assert consumer_names(state) == []


# Dropping


def claim(reader: str, version: int) -> dict[str, str]:
    return {"X-Cdc-Lease": str(version), "X-Cdc-Reader": reader}


def test_a_consumer_is_dropped_by_who_has_it(node: ServedNode, state: Path) -> None:
    version = registered(node, "one")
    assert refused(node.ask("DELETE", f"/consumers/{NAME}")) == (409, "leased")
    assert node.ask("DELETE", f"/consumers/{NAME}", headers=claim("one", version)).status == 200
    assert consumer_names(state) == []
    assert refused(put(node, "one", version, file=stands(FIRST + 1))) == (409, "superseded")
    assert not is_running(state, NAME)
    assert taken(node, "two") == version + 2


def test_a_consumer_that_nobody_has_is_dropped_by_anybody(node: ServedNode, state: Path, clock: Clock) -> None:
    version = registered(node, "one")
    clock.now += 61
    assert node.ask("DELETE", f"/consumers/{NAME}").status == 200
    assert refused(put(node, "one", version)) == (409, "superseded")
    assert refused(node.ask("DELETE", f"/consumers/{NAME}")) == (404, "refused")
    with contextlib.closing(Consumer(state, NAME)):
        assert node.ask("DELETE", f"/consumers/{NAME}").status == 404


def test_dropping_passes_on_the_generation_of_an_outlet(node: ServedNode, state: Path) -> None:
    version = taken(node, "one")
    asked = {"file": stands(FIRST, generation=3), "registers": True, "cleaned_tag": "none"}
    assert put(node, "one", version, **asked).status == 200
    assert node.ask("DELETE", f"/consumers/{NAME}", headers=claim("one", version)).status == 200
    records = FolderJournal(state, writable=False).read()
    assert [getattr(record, "generation", None) for record in records] == [4]


def test_what_was_dropped_on_the_node_is_superseded(node: ServedNode, state: Path, clock: Clock) -> None:
    version = registered(node, "one")
    clock.now += 61
    node.run(node.node.sweep())
    drop_consumer(state, NAME)
    assert refused(put(node, "one", version, file=stands(FIRST + 1))) == (409, "superseded")
    assert consumer_names(state) == []


def test_an_ended_lease_lets_no_segment_go(node: ServedNode, log: LogFolder, clock: Clock) -> None:
    registered(node, "one", FIRST + 1)
    clock.now += 10_000
    node.run(node.node.sweep())
    made = clean(log.path, CleanOptions(), ages=Ages(0.0, 0.0))
    assert [held.segment for held in made.logs] == [FIRST]
    assert sorted(file.name for file in log.path.glob("*.log")) == [
        f"CommitLog-7-{FIRST + number}.log" for number in (1, 2)
    ]


# What else is said in a consumer's name


def test_a_lease_that_a_full_disk_keeps_from_going_on_leaves_no_lock(
    node: ServedNode, clock: Clock, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = registered(node, "one")
    clock.now += 61
    node.run(node.node.sweep())
    assert not is_running(state, NAME)

    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    # Of the server's line behind the process's own, which is there before.
    monkeypatch.setattr("tailer.serve.leases.read_lease", full)
    answer = put(node, "one", version, file=stands(FIRST + 1))
    assert answer.status == 503
    monkeypatch.undo()
    assert not is_running(state, NAME)
    assert put(node, "one", version, file=stands(FIRST + 1)).status == 200


def test_a_target_that_is_away_is_told_of_while_the_lease_lasts(node: ServedNode, state: Path, clock: Clock) -> None:
    version = registered(node, "one")
    assert put(node, "one", version, away="the broker does not answer").status == 200
    told = target_away(state, NAME)
    assert told is not None
    assert (told.error, told.since) == ("the broker does not answer", clock.now)
    assert put(node, "one", version, away="").status == 200
    assert target_away(state, NAME) is None


def test_entries_are_put_into_quarantine_once(node: ServedNode, state: Path) -> None:
    version = taken(node, "one")
    entries = [
        {"node": each, "segment": 5, "offset": 7, "file": "f", "code": 3, "reason": "r", "bytes": "00", "v": 1}
        for each in ("n", "m")
    ]
    path = f"/consumers/{NAME}/quarantine"
    for headers in ({}, claim("two", version)):
        assert node.ask("POST", path, {"entries": entries}, headers).status == 409
    for _ in range(2):
        assert node.ask("POST", path, {"entries": entries}, claim("one", version)).status == 200
    found = list(whole_records(quarantine_path(state, NAME)))
    assert [(each.node, each.at, each.bytes) for each in found] == [("n", (5, 7), "00"), ("m", (5, 7), "00")]


@pytest.mark.parametrize("name", ["..", "%2e%2e%2fx", "a%2fb", "a%00b", ".x", "-x", "x" * 101, "a%20b", "a%0ab", "é"])
def test_names_that_are_none_are_refused(name: str, node: ServedNode, state: Path) -> None:
    before = sorted(state.rglob("*"))
    answer = node.ask("PUT", f"/consumers/{quote(name, safe='%')}", {"reader": "r"})
    assert answer.status in (400, 404)
    assert answer.error == "refused"
    assert sorted(state.rglob("*")) == before


def test_a_full_disk_is_told_as_one_and_the_consumer_goes_on(
    node: ServedNode, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = registered(node, "one")

    def full(*given: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("tailer.on_disk.put_in_place", full)
        answer = put(node, "one", version, file=stands(FIRST + 1))
    assert (*refused(answer), answer.json["code"]) == (503, "failed", 8)
    assert file_of(state).offset.s == FIRST
    assert put(node, "one", version, file=stands(FIRST + 1)).status == 200
    assert file_of(state).offset.s == FIRST + 1


# Holds


def test_a_hold_lasts_as_long_as_it_says(node: ServedNode, state: Path, clock: Clock) -> None:
    asked = {"node": "n", "segment": FIRST + 1, "seconds": 30.0, "program": "p", "host": "h"}
    assert node.ask("PUT", "/holds/read-1", asked).status == 200
    (held,) = read_holds(state, clock.now)
    assert (held.node, held.segment, held.until, held.program, held.host) == ("n", FIRST + 1, clock.now + 30, "p", "h")
    assert read_holds(state, clock.now + 31) == []
    assert node.ask("PUT", "/holds/read-1", {**asked, "segment": FIRST}).status == 200
    assert [each.segment for each in read_holds(state, clock.now)] == [FIRST]
    for _ in range(2):
        assert node.ask("DELETE", "/holds/read-1").status == 200
    assert read_holds(state, clock.now) == []


def test_who_holds_more_waits_for_clean_and_who_holds_less_does_not(
    node: ServedNode, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailer.serve.threads.BUSY_SECONDS", 0.2)
    asked = {"node": "n", "segment": FIRST + 1, "seconds": 30.0}
    assert node.ask("PUT", "/holds/h", asked).status == 200
    with state_lock(state):
        assert node.ask("PUT", "/holds/h", {**asked, "segment": FIRST + 2}).status == 200
        assert node.ask("PUT", "/holds/h", asked).status == 503
        assert node.ask("PUT", "/holds/other", asked).status == 503


@pytest.mark.parametrize(
    "asked",
    [
        {"node": "n", "segment": 1, "seconds": 1e9},
        {"node": "n", "segment": 1, "seconds": -1},
        {"node": "n", "segment": -1, "seconds": 1},
        {"node": "", "segment": 1, "seconds": 1},
        {"node": "n", "segment": 1},
    ],
)
def test_holds_that_are_none_are_refused(asked: dict[str, Any], node: ServedNode) -> None:
    assert refused(node.ask("PUT", "/holds/h", asked)) == (400, "refused")


def test_a_client_has_so_many_holds(node: ServedNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailer.serve.holds.HOLDS_MAX", 2)
    asked = {"node": "n", "segment": 1, "seconds": 30.0}
    answers = [node.ask("PUT", f"/holds/h{number}", asked).status for number in (1, 2, 3, 2)]
    assert answers == [200, 200, 403, 200]
