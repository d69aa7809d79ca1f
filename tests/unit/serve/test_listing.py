"""`GET /segments`: the list, what differs from one that is known, and waiting for it."""

from __future__ import annotations

import threading
import time
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tailer.state.cleaned import CleanedFile, write_cleaned
from tailer.state.ids import Ids
from tests.helpers.log_writer import LogFolder, create_payload, live, one_row_log, segment_of, simple_table
from tests.helpers.logs.growing import GrowingLog
from tests.helpers.served import Answer, ServedNode, served

FIRST = 1_700_000_000_001
TABLE = simple_table("ks", "t")


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    return one_row_log(tmp_path / "cdc_raw", TABLE, FIRST, 3)


def listed(node: ServedNode, etag: str = "", wait: str = "0") -> Answer:
    return node.ask("GET", f"/segments?etag={etag}&wait={wait}")


def names(answer: Answer) -> list[str]:
    return [each["name"] for each in answer.json["segmentsInfo"]]


def log_name(number: int) -> str:
    return f"CommitLog-7-{FIRST + number}.log"


class Waiting(threading.Thread):
    """Asks for a list in a thread; `took`: seconds from `mark` to the answer."""

    def __init__(self, node: ServedNode, etag: str, wait: str = "20s", ahead: str = "") -> None:
        super().__init__()
        self._node, self._etag, self._wait = node, etag, wait + (f"&ahead={ahead}" if ahead else "")
        self.ended = 0.0
        self.answer: Answer | None = None
        self.start()
        until = time.monotonic() + 10
        while node.counted.waiting == 0 and self.answer is None:
            assert time.monotonic() < until
            time.sleep(0.005)

    def run(self) -> None:
        self.answer = listed(self._node, self._etag, self._wait)
        self.ended = time.perf_counter()

    def done(self) -> Any:
        self.join(30)
        assert self.answer is not None
        return self.answer


def test_a_list_has_what_a_look_at_the_folder_shows(node: ServedNode, log: LogFolder) -> None:
    answer = listed(node)
    found = answer.json
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.headers["ETag"] == f'"{found["etag"]}"'
    assert names(answer) == [log_name(number) for number in range(3)]
    first, _, last = found["segmentsInfo"]
    status = (log.path / log_name(0)).stat()
    assert (first["size"], first["inode"], first["completed"]) == (status.st_size, status.st_ino, True)
    assert first["lastModifiedTimestamp"] == status.st_mtime_ns // 1_000_000
    assert (last["completed"], last["idx"]) == (
        False,
        int((log.path / "CommitLog-7-1700000000003_cdc.idx").read_text()),
    )
    told = {each["name"]: b64decode(each["bytes"]) for each in found["sidecars"]}
    assert told == {file.name: file.read_bytes() for file in log.path.glob("*.idx")}
    assert abs(found["nowNs"] / 1e9 - time.time()) < 5
    assert "gone" not in found


def test_a_list_that_is_known_is_304_and_waits_as_long_as_asked(node: ServedNode) -> None:
    etag = listed(node).json["etag"]
    assert listed(node, etag).status == 304
    began = time.monotonic()
    answer = listed(node, etag, "0.4s")
    assert (answer.status, answer.body) == (304, b"")
    assert 0.35 < time.monotonic() - began < 10


def test_what_differs_is_told_alone(node: ServedNode, log: LogFolder) -> None:
    etag = listed(node).json["etag"]
    writer = segment_of(FIRST + 3, [[create_payload(TABLE)]])
    log.put(writer, live(writer))
    (log.path / log_name(0)).unlink()
    found = listed(node, etag).json
    assert [each["name"] for each in found["segmentsInfo"]] == [log_name(3)]
    assert (found["gone"], found["since"]) == ([log_name(0)], etag)
    log.remove(segment_of(FIRST, []))
    assert listed(node, found["etag"]).json["gone"] == ["CommitLog-7-1700000000001_cdc.idx"]


def test_a_name_that_comes_back_is_not_gone(node: ServedNode, log: LogFolder) -> None:
    etag = listed(node).json["etag"]
    file = log.path / log_name(0)
    data = file.read_bytes()
    file.unlink()
    between = listed(node, etag).json
    file.write_bytes(data)
    found = listed(node, etag).json
    assert between["gone"] == [log_name(0)]
    assert "gone" not in found
    assert [each["name"] for each in found["segmentsInfo"]] == [log_name(0)]


@pytest.mark.parametrize("etag", ["", "nonsense", "0123-4", "x-", "-1", "%00", "a" * 4000])
def test_who_knows_no_list_of_this_run_gets_all(etag: str, node: ServedNode) -> None:
    answer = listed(node, etag)
    assert len(names(answer)) == 3
    assert "since" not in answer.json


@pytest.mark.parametrize("version", ["9" * 5000, "9" * 21, "-1", "1e3", "\u0661"])
def test_a_version_that_is_none_gets_all(version: str, node: ServedNode) -> None:
    boot = listed(node).json["etag"].rpartition("-")[0]
    answer = listed(node, quote(f"{boot}-{version}"))
    assert (answer.status, len(names(answer))) == (200, 3)
    assert "since" not in answer.json


def test_a_list_of_the_run_before_is_none_of_this_one(node: ServedNode, log: LogFolder) -> None:
    etag = listed(node).json["etag"]
    node.stop()
    with served(log.path) as other:
        answer = listed(other, etag)
        assert len(names(answer)) == 3
        assert answer.json["boot"] != etag.rpartition("-")[0]


@pytest.mark.parametrize("wait", ["x", "-1", "1e9", "99999999", "1m", "s", ""])
def test_a_wait_that_is_none_is_refused(wait: str, node: ServedNode) -> None:
    answer = listed(node, "", wait)
    assert (answer.status, answer.error) == (400, "refused")


def test_an_append_is_told_at_once(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, FIRST)
    log.section([create_payload(TABLE)])
    log.publish()
    times = []
    with served(log.folder) as node:
        etag = listed(node).json["etag"]
        for _ in range(9):
            waiting = Waiting(node, etag)
            time.sleep(0.02)
            log.section([create_payload(TABLE)])
            promised = log.publish()
            etag = waiting.done().json["etag"]
            times.append(waiting.ended - promised)
    log.finish()
    # Two shared cores: the middle one tells.
    assert sorted(times)[4] < 0.05, times


def test_appends_that_come_together_are_told_together(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, FIRST)
    with served(log.folder) as node:
        version = int(listed(node).json["etag"].rpartition("-")[2])
        waiting = Waiting(node, listed(node).json["etag"])
        began = time.monotonic()
        for _ in range(200):
            log.section([create_payload(TABLE)])
            log.publish()
        spent = time.monotonic() - began
        waiting.done()
        after = int(listed(node).json["etag"].rpartition("-")[2])
        assert 1 <= after - version <= spent / 0.005 + 3
    log.finish()


def test_what_was_cleaned_is_told_in_its_own_form(node: ServedNode, log: LogFolder) -> None:
    before = listed(node).json
    assert (before["cleanedTag"], "cleaned" in before) == ("none", False)
    state = log.path.with_name("cdc_raw.cdc_tail")
    write_cleaned(state, CleanedFile(segments=Ids.of([5])))
    after = listed(node, before["etag"]).json
    assert after["cleaned"] == {"v": 3, "segments": ["5 0"], "bare": [], "lost": {}, "forgotten": 0}
    assert after["cleanedTag"] != "none"
    assert after["segmentsInfo"] == []
    (log.path / log_name(0)).unlink()
    assert "cleaned" not in listed(node, after["etag"]).json


def test_what_is_no_file_is_told_by_what_it_is(log: LogFolder) -> None:
    import os

    os.mkfifo(log.path / log_name(7))
    (log.path / log_name(8)).symlink_to(log.path / log_name(0))
    with served(log.path) as node:
        found = listed(node).json
        assert found["others"] == {log_name(7): "a FIFO", log_name(8): "a link"}
        assert [each["name"] for each in found["segmentsInfo"]] == [log_name(number) for number in range(3)]
        (log.path / log_name(8)).unlink()
        assert listed(node, found["etag"]).json["others"] == {log_name(7): "a FIFO"}


def test_many_names_that_went_are_told_as_a_whole_list(
    node: ServedNode, log: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailer.serve.seen.GONE_MAX", 2)
    etag = listed(node).json["etag"]
    for number in range(2):
        log.remove(segment_of(FIRST + number, []))
    found = listed(node, etag).json
    assert "since" not in found
    assert [each["name"] for each in found["segmentsInfo"]] == [log_name(2)]


def test_a_folder_that_is_gone_is_an_answer_and_comes_back(node: ServedNode, log: LogFolder) -> None:
    etag = listed(node).json["etag"]
    waiting = Waiting(node, etag)
    aside = log.path.with_name("aside")
    log.path.rename(aside)
    answer = waiting.done()
    assert (answer.status, answer.error, answer.json["code"]) == (503, "failed", 8)
    assert listed(node, etag).status == 503
    aside.rename(log.path)
    (log.path / log_name(1)).unlink()
    found = listed(node, etag).json
    assert found["gone"] == [log_name(1)]


def test_who_waits_is_answered_when_the_node_stops(node: ServedNode) -> None:
    waiting = Waiting(node, listed(node).json["etag"])
    began = time.monotonic()
    node.stop()
    assert waiting.done().status == 304
    assert time.monotonic() - began < 5


def test_who_is_gone_waits_no_more(node: ServedNode) -> None:
    etag = listed(node).json["etag"]
    asked = f"GET /api/v1/cdc/segments?etag={etag}&wait=25s HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    for _ in range(5):
        with node.raw(asked):
            until = time.monotonic() + 5
            while not node.counted.waiting:
                assert time.monotonic() < until
        while node.counted.waiting:
            assert time.monotonic() < until


def test_records_of_the_journal_are_told_of(node: ServedNode, log: LogFolder) -> None:
    from tailer.position import Position
    from tailer.state.folder_journal import FolderJournal
    from tailer.state.journal_records import LossRecord

    before = listed(node).json
    waiting = Waiting(node, before["etag"])
    record = LossRecord(consumer="c", start=Position(1, 0), end=Position(2, 0))
    FolderJournal(log.path.with_name("cdc_raw.cdc_tail")).append([record])
    assert waiting.done().json["records"] == 1
    assert node.ask("GET", "/segments").headers["X-Cdc-Folder"] != ""


def test_one_answer_serves_all_who_know_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = GrowingLog(tmp_path, FIRST)
    with served(log.folder) as node:
        etag = listed(node).json["etag"]
        made = []
        from tailer.serve.seen import Seen

        before = Seen.answer
        monkeypatch.setattr(Seen, "answer", lambda self, *given: made.append(given) or before(self, *given))
        waiting = [Waiting(node, etag) for _ in range(10)]
        until = time.monotonic() + 10
        while node.counted.waiting < 10:
            assert time.monotonic() < until
            time.sleep(0.01)
        log.section([create_payload(TABLE)])
        log.publish()
        assert {each.done().json["etag"] for each in waiting} != {etag}
        assert len(made) <= 3
    log.finish()


class TestAhead:
    """Bytes that come with the news of them."""

    @pytest.fixture
    def growing(self, tmp_path: Path) -> Iterator[GrowingLog]:
        log = GrowingLog(tmp_path / "growing", FIRST)
        log.section([create_payload(TABLE)])
        log.publish()
        yield log
        log.finish()

    @staticmethod
    def end(log: GrowingLog) -> int:
        return int((log.folder / "CommitLog-7-1700000000001_cdc.idx").read_text())

    def told(self, log: GrowingLog, *wishes: str, more: int = 1, **serving: Any) -> list[Any]:
        """What comes with so many mutations more."""
        with served(log.folder, **serving) as node:
            waiting = Waiting(node, listed(node).json["etag"], ahead=",".join(wishes))
            # In one section: a log that is longer than told is news of its own to a look that comes before the sidecar.
            log.section([create_payload(TABLE)] * more)
            log.publish_whole()
            answer = waiting.done()
            found: list[Any] = answer.json.get("ahead", [])
            assert answer.json["segmentsInfo"][0]["idx"] == self.end(log)
            return found

    def test_they_come_up_to_a_few_behind_what_is_durable(self, growing: GrowingLog) -> None:
        begin, file = self.end(growing), growing.folder / log_name(0)
        [found] = self.told(growing, f"{log_name(0)}@{begin}")
        status = file.stat()
        assert b64decode(found.pop("bytes")) == file.read_bytes()[begin : self.end(growing) + 4096]
        etag = f'"{status.st_dev}-{status.st_ino}"'
        assert found == {"name": log_name(0), "at": begin, "size": status.st_size, "etag": etag}

    def test_many_do_not(self, growing: GrowingLog) -> None:
        assert self.told(growing, f"{log_name(0)}@{self.end(growing)}", more=100) == []

    def test_nothing_comes_of_what_is_not_new_or_not_there(self, growing: GrowingLog) -> None:
        places = (f"{log_name(0)}@{10**6}", f"{log_name(7)}@0", f"{log_name(0)}@{10**17}")
        assert self.told(growing, *places) == []

    def test_nor_of_what_was_cleaned(self, growing: GrowingLog) -> None:
        begin = self.end(growing)
        with served(growing.folder) as node:
            waiting = Waiting(node, listed(node).json["etag"], ahead=f"{log_name(0)}@{begin}")
            growing.section([create_payload(TABLE)])
            write_cleaned(growing.folder.with_name("cdc_raw.cdc_tail"), CleanedFile(segments=Ids.of([FIRST])))
            growing.publish_whole()
            assert "ahead" not in waiting.done().json

    def test_they_are_counted_as_what_leaves(self, growing: GrowingLog) -> None:
        begin = self.end(growing)
        with served(growing.folder) as node:
            waiting = Waiting(node, listed(node).json["etag"], ahead=f"{log_name(0)}@{begin}")
            growing.section([create_payload(TABLE)])
            growing.publish_whole()
            [found] = waiting.done().json["ahead"]
            assert node.counted.bytes == len(b64decode(found["bytes"]))

    @pytest.mark.parametrize(
        "ahead",
        ["x", "CommitLog-7-1.log", "CommitLog-7-1.log@", "CommitLog-7-1.log@x", "a@1", "../CommitLog-7-1.log@0"],
    )
    def test_a_wish_that_is_none_is_refused(self, ahead: str, node: ServedNode) -> None:
        answer = node.ask("GET", f"/segments?ahead={ahead}")
        assert (answer.status, answer.error) == (400, "refused")

    def test_so_are_too_many(self, node: ServedNode) -> None:
        wishes = ",".join(f"{log_name(0)}@{place}" for place in range(9))
        assert node.ask("GET", f"/segments?ahead={wishes}").status == 400
