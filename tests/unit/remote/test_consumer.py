"""A consumer that a node keeps: whose its name is, for how long, and that nobody else moves it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import tailer
from tailer.errors import CdcError, NodeAwayError, RefusedError, SystemFailedError
from tailer.position import Position
from tailer.remote import consumer as consuming
from tailer.remote.consumer import CleanedMeanwhileError, Lease, RemoteConsumer
from tailer.remote.home import RemoteHome
from tailer.remote.link import Link
from tailer.retention.move_consumer import drop_consumer, seek_consumer
from tailer.serve.options import Bounds
from tailer.state.cleaned import CleanedFile, write_cleaned
from tailer.state.consumers import NodeState, consumer_path, is_running, read_consumer
from tailer.state.folder_journal import FolderJournal
from tailer.state.holds import read_holds
from tailer.state.ids import Ids
from tailer.state.journal_records import LossRecord
from tailer.state.offset import Memory, NodeOffset
from tests.helpers.cli import run_cli
from tests.helpers.faulty_link import faulty_link, http, odd_server
from tests.helpers.links import NO_ACCESS, linked, read_once, tail_at, url_of
from tests.helpers.log_writer import LogFolder
from tests.helpers.served import ServedNode, served
from tests.retention.killed import Killed, killed_at
from tests.unit.remote.conftest import COUNT, FIRST

NAME = "billing"
SOON = 0.4
"""How long a lease lasts here, where it is to end."""

EVER = 30.0


@pytest.fixture
def state(log: LogFolder) -> Path:
    return log.path.with_name("cdc_raw.cdc_tail")


@contextmanager
def reader(url: str, wait: float = 0.0, **more: Any) -> Iterator[tuple[Link, RemoteConsumer]]:
    """One process that has the consumer; killed at the end, so that it says nothing any more."""
    with linked(url, **more) as link:
        consumer = RemoteConsumer(link, NAME, "a test", lambda: None, wait)
        try:
            yield link, consumer
        finally:
            kill(link, consumer)


def kill(link: Link, consumer: RemoteConsumer) -> None:
    link.close()
    consumer.close()
    consuming.forget_own(link.where, NAME)


def registered(log: LogFolder, node: ServedNode) -> None:
    """It stands at the first segment's end."""
    with tail_at(node.url, consumer=NAME) as tail:
        tail.save()


def standing(state: Path) -> bytes:
    return consumer_path(state, NAME).read_bytes()


def move(consumer: RemoteConsumer, number: int) -> None:
    at = consumer.content.nodes["local"]
    offset = NodeOffset(at.offset.j, FIRST + number, 0, False, id=at.offset.id)
    consumer.save("local", NodeState(offset, Memory(), offset.position), moved=1.0, program="a test")


def test_a_second_reader_waits_and_is_refused(log: LogFolder, node: ServedNode) -> None:
    with reader(node.url):
        began = time.monotonic()
        with pytest.raises(RefusedError, match="in use by a test on ") as error, reader(node.url, 1.5):
            pass
        assert 0.5 < time.monotonic() - began < 5
    assert error.value.code == 6
    assert error.value.remedy


def test_a_second_follower_ends_with_exit_6(log: LogFolder, node: ServedNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RemoteHome.__init__, "__defaults__", (0.2,))
    with reader(node.url):
        result = read_once(node.url, "--consumer", NAME)
    assert (result.code, result.out) == (6, "")
    assert "in use by a test on " in result.err


def test_the_lease_of_one_that_was_killed_ends_and_is_taken(log: LogFolder, state: Path) -> None:
    with served(log.path, bounds=Bounds(stop_seconds=1.0, lease_seconds=SOON)) as node:
        with reader(node.url):
            pass
        began = time.monotonic()
        with reader(node.url, EVER):
            assert SOON / 2 < time.monotonic() - began < 10


def test_one_that_ended_is_followed_at_once(log: LogFolder, node: ServedNode) -> None:
    first = read_once(node.url, "--consumer", NAME)
    began = time.monotonic()
    second = read_once(node.url, "--consumer", NAME)
    assert (first.code, len(first.lines), second.code, second.lines) == (0, COUNT, 0, [])
    assert time.monotonic() - began < 10


def test_who_reads_for_long_without_a_request_keeps_its_lease(log: LogFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consuming, "_RENEW_SECONDS", 0.1)
    with served(log.path, bounds=Bounds(stop_seconds=1.0, lease_seconds=SOON)) as node, reader(node.url):
        time.sleep(3 * SOON)
        with pytest.raises(RefusedError), reader(node.url):
            pass


def test_a_process_on_the_node_waits_for_the_lease_too(log: LogFolder, node: ServedNode, state: Path) -> None:
    registered(log, node)
    with reader(node.url):
        result = read_once(log.path, "--consumer", NAME)
        assert (result.code, result.out) == (6, "")
        assert "by `cdc-tail serve`" in result.err
        with pytest.raises(RefusedError):
            drop_consumer(state, NAME)
    assert is_running(state, NAME)


def test_who_was_taken_over_moves_nothing(log: LogFolder, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consuming, "_RENEW_SECONDS", EVER)
    with served(log.path, bounds=Bounds(stop_seconds=1.0, lease_seconds=SOON)) as node:
        registered(log, node)
        with reader(node.url) as (_, late):
            time.sleep(1.5 * SOON)
            with reader(node.url, EVER) as (_, now):
                move(now, 2)
                before = standing(state)
                for use in (
                    lambda: move(late, 1),
                    lambda: late.away.tell(None),
                    lambda: late.keep_aside(b'{"entries":[]}'),
                ):
                    with pytest.raises(RefusedError, match="another reader took") as error:
                        use()
                    assert error.value.code == 6
                late.close()
                assert standing(state) == before
                # It did not give back what is another one's.
                move(now, 1)


def test_who_is_late_goes_on_where_nobody_took_the_name(
    log: LogFolder, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consuming, "_RENEW_SECONDS", EVER)
    with served(log.path, bounds=Bounds(stop_seconds=1.0, lease_seconds=SOON)) as node:
        registered(log, node)
        with reader(node.url) as (_, late):
            time.sleep(1.5 * SOON)
            node.run(node.node.sweep())
            assert not is_running(state, NAME)
            move(late, 2)
            assert is_running(state, NAME)
    assert read_consumer(consumer_path(state, NAME), NAME).nodes["local"].offset.s == FIRST + 2


@pytest.mark.parametrize("how", ["put", "away", "quarantine", "journal"])
def test_a_lease_goes_on_where_serve_was_started_anew(how: str, log: LogFolder, state: Path) -> None:
    with served(log.path) as node:
        registered(log, node)
        port = node.port
        link = Link(url_of(node.url), NO_ACCESS)
        consumer = RemoteConsumer(link, NAME, "a test", lambda: None, 0.0)
    try:
        with served(log.path, port=port) as node:
            if how == "put":
                move(consumer, 2)
            elif how == "away":
                consumer.away.tell(SystemFailedError("the target is away"))
            elif how == "quarantine":
                consumer.keep_aside(b'{"entries":[]}')
            else:
                consumer.journal.append_loss(NAME, Position(FIRST, 0), Position(FIRST, 8))
                assert consumer.journal.count == 1 + len(node.ask("GET", "/records").json["records"]) - 1
            with pytest.raises(RefusedError), reader(node.url):
                pass
            move(consumer, 1)
    finally:
        kill(link, consumer)


@pytest.mark.parametrize("how", ["moved", "dropped"])
def test_what_was_moved_by_hand_while_serve_was_away_stays_so(how: str, log: LogFolder, state: Path) -> None:
    with served(log.path) as node:
        registered(log, node)
        port = node.port
        link = Link(url_of(node.url), NO_ACCESS)
        consumer = RemoteConsumer(link, NAME, "a test", lambda: None, 0.0)
        move(consumer, 2)
    try:
        if how == "moved":
            seek_consumer(log.path, NAME, f"{FIRST}:0")
            before = standing(state)
        else:
            drop_consumer(state, NAME)
        with served(log.path, port=port):
            with pytest.raises(RefusedError, match="was moved while its node was away") as error:
                move(consumer, 1)
            assert error.value.code == 6
            if how == "moved":
                assert standing(state) == before
            else:
                assert not consumer_path(state, NAME).exists()
    finally:
        kill(link, consumer)


def test_what_arrived_though_the_answer_was_lost_is_no_move_by_others(log: LogFolder, state: Path) -> None:
    """The answer is lost, `serve` starts anew, and only then the same is put again."""
    with served(log.path) as node:
        registered(log, node)
        port = node.port
        with faulty_link(port) as between:
            link = Link(url_of(between.url), NO_ACCESS)
            consumer = RemoteConsumer(link, NAME, "a test", lambda: None, 0.0)
            between.hangs = True
            saving = threading.Thread(target=lambda: suppress_away(lambda: move(consumer, 2)))
            before = standing(state)
            saving.start()
            until = time.monotonic() + 10
            while standing(state) == before and time.monotonic() < until:
                time.sleep(0.01)
            assert standing(state) != before
            node.stop()
            with served(log.path, port=port):
                between.cut_at, between.hangs = 0, False
                saving.join()
                move(consumer, 2)
                move(consumer, 1)
            kill(link, consumer)
    assert read_consumer(consumer_path(state, NAME), NAME).nodes["local"].offset.s == FIRST + 1


def test_the_same_put_twice_is_done_once(log: LogFolder, state: Path) -> None:
    with served(log.path) as node, faulty_link(node.port) as between:
        registered(log, node)
        with reader(between.url, patience=EVER) as (_, consumer):
            for number in (1, 2, 1, 2):
                between.cut_at = 0
                move(consumer, number)
                assert read_consumer(consumer_path(state, NAME), NAME).nodes["local"].offset.s == FIRST + number


def test_giving_back_does_not_wait_for_a_node_that_is_away(log: LogFolder) -> None:
    with served(log.path) as node:
        link = Link(url_of(node.url), NO_ACCESS, patience=EVER)
        lease = Lease(link, NAME, "a test")
    began = time.monotonic()
    lease.close()
    link.close()
    assert time.monotonic() - began < 5


def test_a_place_found_before_clean_ran_is_looked_for_again(log: LogFolder, node: ServedNode, state: Path) -> None:
    with linked(node.url) as link:
        home, tries = RemoteHome(link, "a test"), []
        consumer = home.consumer(NAME, 0.0)
        offset = consumer.journal.stamped(NodeOffset(0, FIRST, 0, False))

        def begin() -> None:
            tries.append(link.look(lambda seen: seen.cleaned_tag))
            if len(tries) < 3:
                write_cleaned(state, CleanedFile(segments=Ids.of([FIRST - 9 + len(tries)])))
            consumer.save("local", NodeState(offset, Memory(), offset.position), moved=1.0, program="a test")

        home.registering(begin)
        assert len(tries) == 3
        assert len(set(tries)) == 3
        consumer.close()
    assert list(read_consumer(consumer_path(state, NAME), NAME).nodes) == ["local"]


def test_going_back_is_held_against_clean_too(log: LogFolder, node: ServedNode, state: Path) -> None:
    """An outlet may lack what its consumer has passed: for what is read again `clean` must not run in between."""
    registered(log, node)
    with linked(node.url) as link:
        home = RemoteHome(link, "a test", wait_seconds=0.0)
        consumer = home.consumer(NAME, 0.0)
        move(consumer, 2)  # type: ignore[arg-type]
        before = standing(state)
        tries = []

        def go_back() -> None:
            tries.append(0)
            if len(tries) == 1:
                write_cleaned(state, CleanedFile(segments=Ids.of([FIRST])))
                with pytest.raises(CleanedMeanwhileError):
                    move(consumer, 0)  # type: ignore[arg-type]
                assert standing(state) == before
                raise CleanedMeanwhileError
            move(consumer, 1)  # type: ignore[arg-type]

        home.registering(go_back)
        consumer.close()
    assert len(tries) == 2
    assert read_consumer(consumer_path(state, NAME), NAME).nodes["local"].offset.s == FIRST + 1


def test_a_consumer_that_registers_behind_a_compaction_that_was_killed(
    log: LogFolder, node: ServedNode, state: Path
) -> None:
    """Its base is there, and nothing was written behind it; `serve` had read the journal before."""
    registered(log, node)
    journal = FolderJournal(state)
    journal.refresh()
    journal.append_loss("somebody", Position(FIRST, 0), Position(FIRST, 8))
    for _ in range(2):
        # Read, and then found to be all there is: from now on one look at the file is enough for it.
        node.ask("GET", "/records")
    kept = [record for record in journal.read() if not isinstance(record, LossRecord)]
    with pytest.raises(Killed), killed_at(0, ("ftruncate",)):
        journal.compact(FIRST, lambda records: kept)
    with tail_at(node.url, consumer="later"):
        pass
    # Whoever reads the journal from its beginning knows of the base.
    with served(log.path) as anew, tail_at(anew.url, consumer="later") as tail:
        assert tail.resumed


def test_clean_at_each_look_is_told(log: LogFolder, node: ServedNode, state: Path) -> None:
    with linked(node.url) as link:
        home = RemoteHome(link, "a test")
        consumer, tries = home.consumer(NAME, 0.0), []
        offset = consumer.journal.stamped(NodeOffset(0, FIRST, 0, False))

        def begin() -> None:
            tries.append(0)
            write_cleaned(state, CleanedFile(segments=Ids.of([FIRST - 99 + len(tries)])))
            consumer.save("local", NodeState(offset, Memory(), offset.position), moved=1.0, program="a test")

        with pytest.raises(SystemFailedError, match="`clean` took segments away at each look"):
            home.registering(begin)
        consumer.close()
    assert not consumer_path(state, NAME).exists()


def test_what_cannot_be_decoded_is_put_aside_on_the_node(log: LogFolder, node: ServedNode, state: Path) -> None:
    path = log.path / f"CommitLog-7-{FIRST + 1}.log"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    aside = ("--on-error", "quarantine")
    beside = read_once(log.path, "--consumer", "beside", *aside)
    far = read_once(node.url, "--consumer", "far", *aside)
    assert (far.code, far.lines) == (beside.code, beside.lines)
    listed = [
        json.loads(line)
        for name in ("beside", "far")
        for line in run_cli(["quarantine", log.path, "list", "--consumer", name, "--output", "json"]).lines
    ]
    assert len(listed) >= 2
    half = len(listed) // 2
    for ours, theirs in zip(listed[:half], listed[half:], strict=True):
        for entry in (ours, theirs):
            entry.pop("consumer", None)
        assert ours == theirs


def test_a_batch_read_holds_what_it_reads_on_the_node(log: LogFolder, node: ServedNode, state: Path) -> None:
    rows = tailer.open(node.url).read()
    first = next(rows)
    assert [each.segment for each in read_holds(state, time.time())] == [FIRST]
    assert len(first) + sum(len(batch) for batch in rows) == COUNT
    assert read_holds(state, time.time()) == []


def test_a_hold_that_cannot_be_let_go_keeps_nobody(log: LogFolder) -> None:
    with served(log.path) as node:
        rows = tailer.open(node.url).read()
        next(rows)
    began = time.monotonic()
    rows.close()
    assert time.monotonic() - began < 5


def test_no_public_call_raises_what_is_not_documented(log: LogFolder, tmp_path: Path) -> None:
    """Every request is answered by something odd: at its first byte, or by a refusal."""
    refusal = b'{"error":"refused","what":"no","code":0}'
    for answer in (http(refusal, "400 Bad Request"), http(refusal, "409 Conflict"), http(b"{}"), b""):
        with odd_server(answer) as server, linked(server.url) as link:
            home = RemoteHome(link, "a test", wait_seconds=0.0)
            for use in (
                lambda: home.journal(writable=True),  # noqa: B023
                lambda: home.consumer("c", 0.0),  # noqa: B023
                lambda: home.stands("c"),  # noqa: B023
                home.cleaned,
                lambda: home.registering(lambda: None),  # noqa: B023
                lambda: home.holds().drop("h"),  # noqa: B023
                lambda: tail_at(server.url),
                lambda: tail_at(server.url, consumer="c"),
            ):
                # Nothing else leaves. OSError is of a hold that cannot be let go: it runs out.
                with suppress(CdcError, OSError):
                    use()


def suppress_away(use: Any) -> None:
    with suppress(NodeAwayError):
        use()
