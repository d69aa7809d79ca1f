"""How much of the node's state one client may fill: names, journal, quarantine; and that others have their own room."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import CorruptError, QuarantineFullError, UsageError
from tailer.position import Position
from tailer.retention.move_consumer import drop_consumer
from tailer.serve.clients import JOURNAL_BYTES_MAX, Client, Clients, read_tokens
from tailer.serve.leases import FORGOTTEN_SECONDS
from tailer.state.affected import consumer_of
from tailer.state.consumer import Consumer
from tailer.state.consumers import ConsumerFile, consumer_path, read_consumer, take_consumer, write_consumer
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import AnyRecord, GenerationRecord, OptionsRecord
from tailer.state.lock import state_lock
from tailer.state.modes import make_folder
from tailer.state.quarantine import Quarantine
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import LogFolder, one_row_log, simple_table
from tests.helpers.served import TOKEN, Answer, ServedNode, served

FIRST = 1_700_000_000_001
ANNA, BERT = "token-of-anna-long-enough", "token-of-bert-long-enough"
NAMES = 4
JOURNAL, QUARANTINE = 4000, 5000
KNOWN = Clients(
    {},
    [
        (ANNA.encode(), Client("anna", "a-", NAMES, journal_bytes=JOURNAL, quarantine_bytes=QUARANTINE)),
        (BERT.encode(), Client("bert", "b-", NAMES, journal_bytes=JOURNAL, quarantine_bytes=QUARANTINE)),
    ],
)


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    return one_row_log(tmp_path / "cdc_raw", simple_table("ks", "t"), FIRST, 1)


@pytest.fixture
def state(log: LogFolder) -> Path:
    return log.path.with_name("cdc_raw.cdc_tail")


@pytest.fixture
def node(log: LogFolder) -> Iterator[ServedNode]:
    with served(log.path, clients=KNOWN) as found:
        yield found


def take(node: ServedNode, name: str, token: str = ANNA, **more: Any) -> Answer:
    return node.ask("PUT", f"/consumers/{name}", {"reader": "r", **more}, token=token)


def lease(node: ServedNode, name: str, token: str = ANNA) -> dict[str, str]:
    answer = take(node, name, token)
    assert answer.status == 200, answer.body
    return {"X-Cdc-Lease": str(answer.json["version"]), "X-Cdc-Reader": "r"}


def register(node: ServedNode, name: str, token: str = ANNA) -> int:
    version: int = take(node, name, token).json["version"]
    place = {"j": 0, "s": FIRST, "o": 0, "done": False, "p": [], "id": ""}
    file = {"name": name, "nodes": {"n": {"offset": place, "restart": [FIRST, 0]}}, "v": 3, "moved": 7.0}
    answer = take(node, name, token, version=version, file=file, registers=True, cleaned_tag="none")
    assert answer.status == 200, answer.body
    return version


# Names


def test_a_name_that_is_given_back_leaves_nothing(node: ServedNode, state: Path) -> None:
    for number in range(3 * NAMES):
        version = take(node, f"a-{number}").json["version"]
        assert take(node, f"a-{number}", version=version, gives_back=True).status == 200
    assert list((state / "consumers").iterdir()) == []
    # One that has a consumer keeps its version.
    version = register(node, "a-1")
    assert take(node, "a-1", version=version, gives_back=True).status == 200
    assert take(node, "a-1").json["version"] == version + 1


def test_who_took_a_name_before_it_was_given_back_writes_nothing(node: ServedNode) -> None:
    old = lease(node, "a-1")
    assert take(node, "a-1", version=int(old["X-Cdc-Lease"]), gives_back=True).status == 200
    answer = node.ask("PUT", "/consumers/a-1", {"reader": "another"}, token=ANNA)
    assert answer.json["version"] == int(old["X-Cdc-Lease"])
    answer = node.ask("POST", "/records", {"expected": 0, "records": [], "consumer": "a-1"}, old, token=ANNA)
    assert (answer.status, answer.error) == (409, "superseded")


def test_names_that_were_dropped_count_for_a_while(node: ServedNode, state: Path) -> None:
    for number in range(NAMES):
        name = f"a-{number}"
        headers = {"X-Cdc-Lease": str(register(node, name)), "X-Cdc-Reader": "r"}
        assert node.ask("DELETE", f"/consumers/{name}", None, headers, token=ANNA).status == 200
    answer = take(node, "a-new")
    assert (answer.status, answer.error) == (403, "not-allowed")
    assert "10 minutes" in answer.json["remedy"]
    # Another client has as many of its own.
    assert take(node, "b-new", BERT).status == 200
    # A name that was there may be taken again.
    assert take(node, "a-0").status == 200
    long_ago = time.time() - FORGOTTEN_SECONDS - 1
    for number in range(NAMES):
        os.utime(state / "consumers" / f"a-{number}.lease", (long_ago, long_ago))
    assert take(node, "a-new").status == 200
    left = {path.name for path in (state / "consumers").iterdir()}
    # Somebody has a-0, and b-new is another client's.
    assert left == {f"{name}.{kind}" for name in ("a-0", "a-new", "b-new") for kind in ("lease", "lock")}


def test_who_waits_at_a_lock_that_is_removed_takes_the_new_one(node: ServedNode, state: Path) -> None:
    version = take(node, "a-1").json["version"]
    held: list[int] = []

    def give_back(*given: Any) -> None:
        take(node, "a-1", version=version, gives_back=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tailer.on_disk.time.sleep", give_back)
        held.append(take_consumer(state, "a-1", 60.0))
    try:
        assert os.fstat(held[0]).st_ino == (state / "consumers" / "a-1.lock").stat().st_ino
        assert take(node, "a-1").status == 409
    finally:
        os.close(held[0])


# The journal


def posted(node: ServedNode, name: str, headers: dict[str, str], size: int, number: int, token: str = ANNA) -> Answer:
    count = node.ask("GET", "/records", token=token).json["count"]
    record = {"kind": "skip", "consumer": name, "at": [FIRST, number], "reason": "x" * size, "lost": 0}
    asked = {"expected": count, "records": [record], "consumer": name}
    return node.ask("POST", "/records", asked, headers, token=token)


def test_a_client_has_so_much_of_the_journal(node: ServedNode, state: Path) -> None:
    headers = lease(node, "a-1")
    answers = [posted(node, "a-1", headers, 900, number) for number in range(6)]
    assert [each.status for each in answers] == [200, 200, 200, 200, 507, 507]
    full = answers[-1].json
    assert (full["error"], full["code"]) == ("journal-full", 8)
    assert "anna" in full["what"]
    assert str(JOURNAL) in full["expected"]
    assert "cdc-tail clean" in full["remedy"]
    assert "`journal`" in full["remedy"]
    # With another consumer it has no more; another client has all of its own, and so has the node.
    assert posted(node, "a-2", lease(node, "a-2"), 900, 1).status == 507
    assert posted(node, "b-1", lease(node, "b-1", BERT), 900, 1, BERT).status == 200
    journal = FolderJournal(state)
    journal.append_skip("beside", Position(FIRST, 1), CorruptError("x" * 2 * JOURNAL))
    # What is there is answered still.
    assert posted(node, "a-1", headers, 900, 1).json == {"numbers": [2]}
    # Once `clean` has left out what nobody needs, there is room again.
    with state_lock(state):
        journal.compact(FIRST, lambda records: [each for each in records if each.n != 1])
    assert posted(node, "a-1", headers, 900, 8).status == 200
    assert posted(node, "a-1", headers, 900, 9).status == 507


def given(node: ServedNode, name: str, headers: dict[str, str], size: int, token: str = ANNA) -> Answer:
    """What `--schema` of a reader gives: a definition for its consumer alone. As the reader does, it asks again where
    the journal has gone on."""
    delta = {"table": "tables", "keyspace": "ks", "clustering": [name], "cells": {"id": [1, "x" * size]}}
    record = {"kind": "own_schema", "consumer": name, "at": [FIRST, 0], "source": "file x.cql", "deltas": [delta]}
    for _ in range(3):
        count = node.ask("GET", f"/records?from={10**9}", token=token).json["count"]
        asked = {"expected": count, "records": [record], "consumer": name}
        answer = node.ask("POST", "/records", asked, headers, token=token)
        if answer.status == 200 or answer.error != "behind":
            break
    return answer


def dropped(node: ServedNode, name: str, version: int, token: str = ANNA) -> None:
    headers = {"X-Cdc-Lease": str(version), "X-Cdc-Reader": "r"}
    assert node.ask("DELETE", f"/consumers/{name}", None, headers, token=token).status == 200


def journal_of(state: Path, name: str) -> list[AnyRecord]:
    return [record for record in FolderJournal(state).read() if consumer_of(record) == name]


MANY = Client("anna", "a-", 1000, journal_bytes=JOURNAL, quarantine_bytes=QUARANTINE)


@pytest.fixture
def churned(log: LogFolder) -> Iterator[ServedNode]:
    """Anna may have so many names that it is the journal alone that she fills."""
    bert = Client("bert", "b-", 1000, journal_bytes=JOURNAL, quarantine_bytes=QUARANTINE)
    with served(log.path, clients=Clients({}, [(ANNA.encode(), MANY), (BERT.encode(), bert)])) as found:
        yield found


@pytest.mark.parametrize("ends", ["dropped", "given back", "dropped on the node"])
def test_consumers_that_are_gone_hold_no_room(churned: ServedNode, state: Path, ends: str) -> None:
    """New names for ever, each with definitions of its own: five of them fill the room."""
    register(churned, "b-1", BERT)
    stands = read_consumer(consumer_path(state, "b-1"), "b-1").nodes["n"].offset
    bert = lease(churned, "b-1", BERT)
    assert given(churned, "b-1", bert, 700, BERT).status == 200
    kept = journal_of(state, "b-1")
    for number in range(20):
        name = f"a-{number}"
        version = register(churned, name) if ends != "given back" else take(churned, name).json["version"]
        headers = {"X-Cdc-Lease": str(version), "X-Cdc-Reader": "r"}
        answer = given(churned, name, headers, 700)
        assert answer.status == 200, (number, answer.body)
        if ends == "dropped":
            dropped(churned, name, version)
            continue
        assert take(churned, name, version=version, gives_back=True).status == 200
        if ends == "dropped on the node":
            drop_consumer(state, name)
    # Nobody else is touched: neither a consumer's records, nor an offset from before.
    assert journal_of(state, "b-1") == kept
    FolderJournal(state).check(stands)
    assert posted(churned, "b-1", bert, 100, 9, BERT).status == 200
    assert sum(len(journal_of(state, f"a-{number}")) for number in range(20)) <= 5


def test_a_drop_makes_room_at_once_where_much_is_left(churned: ServedNode, state: Path) -> None:
    for number in range(4):
        version = register(churned, f"a-{number}")
        assert given(churned, f"a-{number}", lease(churned, f"a-{number}"), 700).status == 200
        assert version
    register(churned, "a-other")
    for number in range(4):
        dropped(churned, f"a-{number}", lease_version(churned, f"a-{number}"))
    # A journal is written anew for a part of the room, and not for each name.
    assert sum(len(journal_of(state, f"a-{number}")) for number in range(4)) <= 1


def lease_version(node: ServedNode, name: str, token: str = ANNA) -> int:
    version: int = take(node, name, token).json["version"]
    return version


@pytest.mark.parametrize("ends", ["dropped", "given back"])
def test_where_nobody_has_a_bound(log: LogFolder, state: Path, ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--no-auth`: nobody's room is ever full."""
    monkeypatch.setattr("tailer.serve.consumers.DROPPED_BYTES", 3000)
    with served(log.path) as node:
        for number in range(12):
            name = f"c-{number}"
            version = register(node, name) if ends == "dropped" else take(node, name).json["version"]
            assert given(node, name, {"X-Cdc-Lease": str(version), "X-Cdc-Reader": "r"}, 700).status == 200
            if ends == "dropped":
                dropped(node, name, version)
            else:
                assert take(node, name, version=version, gives_back=True).status == 200
    assert sum(len(journal_of(state, f"c-{number}")) for number in range(12)) <= 4


def test_a_drop_is_done_whatever_becomes_of_the_room(
    churned: ServedNode, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = register(churned, "a-1")
    headers = {"X-Cdc-Lease": str(version), "X-Cdc-Reader": "r"}
    assert given(churned, "a-1", headers, 3000).status == 200

    def full(*args: object, **named: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("tailer.state.folder_journal.write_base", full)
        dropped(churned, "a-1", version)
    assert len(journal_of(state, "a-1")) == 1
    # On the node also where nobody can read the journal.
    register(churned, "a-2")
    assert take(churned, "a-2", version=lease_version(churned, "a-2"), gives_back=True).status == 200
    (state / "journal").write_bytes(b"damaged\n" * 3)
    drop_consumer(state, "a-2")
    assert not consumer_path(state, "a-2").exists()


def test_with_the_same_name_again_and_again(churned: ServedNode, state: Path) -> None:
    for number in range(20):
        version = register(churned, "a-1")
        answer = given(churned, "a-1", {"X-Cdc-Lease": str(version), "X-Cdc-Reader": "r"}, 700 + number)
        assert answer.status == 200, (number, answer.body)
        dropped(churned, "a-1", version)


def test_what_somebody_may_need_stays(churned: ServedNode, state: Path) -> None:
    """A name that is held or taken, entries in quarantine, a state of images: their records count."""
    running = take_consumer(state, "a-running")
    beside = FolderJournal(state)
    for name in ("a-running", "a-images", "a-gone"):
        beside.append([OptionsRecord(consumer=name, options={"tables": [name]})])
    (state / "images" / "a-images").mkdir(parents=True)
    assert given(churned, "a-taken", lease(churned, "a-taken"), 100).status == 200
    aside = register(churned, "a-aside")
    headers = {"X-Cdc-Lease": str(aside), "X-Cdc-Reader": "r"}
    assert given(churned, "a-aside", headers, 100).status == 200
    assert put_aside(churned, "a-aside", headers, 1).status == 200
    dropped(churned, "a-aside", aside)
    try:
        headers = lease(churned, "a-1")
        answers = [given(churned, "a-1", headers, 500 + number).status for number in range(10)]
        assert answers[-1] == 507
    finally:
        os.close(running)
    kept = {name: len(journal_of(state, f"a-{name}")) for name in ("running", "images", "taken", "aside", "gone")}
    assert kept == {"running": 1, "images": 1, "taken": 1, "aside": 1, "gone": 0}
    # Once its entries are moved away nobody needs them any more.
    (state / "quarantine" / "a-aside.jsonl").unlink()
    given(churned, "a-1", headers, 900)
    assert journal_of(state, "a-aside") == []


def test_what_the_sentence_names_makes_room(churned: ServedNode, log: LogFolder, state: Path) -> None:
    """Its remedy, as it stands there."""
    version = register(churned, "a-1")
    headers = {"X-Cdc-Lease": str(version), "X-Cdc-Reader": "r"}
    full = [posted(churned, "a-1", headers, 900, number) for number in range(6)][-1]
    assert (full.status, full.error) == (507, "journal-full")
    assert "`cdc-tail consumers DIR drop NAME`" in full.json["remedy"]
    other = lease(churned, "a-2")
    assert given(churned, "a-2", other, 900).status == 507
    # `clean`, which the sentence named alone once, frees nothing of a consumer that stays.
    assert take(churned, "a-1", version=version, gives_back=True).status == 200
    assert run_cli(["clean", log.path]).code == 0
    assert given(churned, "a-2", other, 900).status == 507
    assert run_cli(["consumers", log.path, "drop", "a-1"]).code == 0
    assert given(churned, "a-2", other, 900).status == 200


# The quarantine


def put_aside(node: ServedNode, name: str, headers: dict[str, str], number: int, token: str = ANNA) -> Answer:
    entry = {
        "node": "n",
        "segment": FIRST,
        "offset": number,
        "file": "f",
        "code": 3,
        "reason": "r",
        "bytes": "00" * 500,
    }
    return node.ask("POST", f"/consumers/{name}/quarantine", {"entries": [entry]}, headers, token=token)


def test_a_client_has_so_much_of_the_quarantine(node: ServedNode, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headers = lease(node, "a-1")
    answers = [put_aside(node, "a-1", headers, number) for number in range(6)]
    assert [each.status for each in answers] == [200, 200, 200, 200, 507, 507]
    full = answers[-1].json
    assert (full["error"], full["code"]) == ("quarantine-full", QuarantineFullError.code)
    assert full["what"] == f"the quarantine of anna is full ({QUARANTINE} bytes)"
    assert "`quarantine`" in full["remedy"]
    assert put_aside(node, "a-2", lease(node, "a-2"), 1).status == 507
    assert put_aside(node, "b-1", lease(node, "b-1", BERT), 1, BERT).status == 200
    # What clients have put aside takes no room of a consumer beside the log.
    beside = Quarantine(state, "beside", "n", 3000)
    for number in range(2):
        beside.keep(Position(FIRST, number), "f", CorruptError("r"), bytes(500))
    with pytest.raises(QuarantineFullError):
        beside.keep(Position(FIRST, 3), "f", CorruptError("r"), bytes(500))
    # What is there is answered still.
    assert put_aside(node, "a-1", headers, 1).status == 200


# Whose room it is


ONE, TWO = "token-of-one-long-enough", "token-of-two-long-enough"
"""Of clients who may have every consumer."""
ALIKE = Clients(
    {},
    [
        (ONE.encode(), Client("one", "", NAMES, journal_bytes=JOURNAL, quarantine_bytes=QUARANTINE)),
        (TWO.encode(), Client("two", "", NAMES, journal_bytes=JOURNAL, quarantine_bytes=QUARANTINE)),
    ],
)


@pytest.fixture
def alike(log: LogFolder) -> Iterator[ServedNode]:
    with served(log.path, clients=ALIKE) as found:
        yield found


def fills(node: ServedNode, name: str, headers: dict[str, str], token: str) -> tuple[int, int]:
    """How many records and entries fit."""
    records = [posted(node, name, headers, 900, number, token).status for number in range(6)]
    entries = [put_aside(node, name, headers, number, token).status for number in range(6)]
    assert {*records, *entries} == {200, 507}
    return records.count(200), entries.count(200)


def test_clients_without_a_prefix_have_room_of_their_own(alike: ServedNode, state: Path) -> None:
    FolderJournal(state).append_skip("beside", Position(FIRST, 1), CorruptError("x" * 2 * JOURNAL))
    Consumer(state, "beside").close()
    write_consumer(state, ConsumerFile("beside", {}))
    Quarantine(state, "beside", "n").keep(Position(FIRST, 1), "f", CorruptError("r"), bytes(QUARANTINE))
    assert fills(alike, "c-1", lease(alike, "c-1", ONE), ONE) == (4, 4)
    assert fills(alike, "c-2", lease(alike, "c-2", TWO), TWO) == (4, 4)
    # What they fill is in no room of consumers on the node.
    Quarantine(state, "beside", "n", 3 * QUARANTINE).keep(Position(FIRST, 2), "f", CorruptError("r"), bytes(100))


def test_each_of_them_has_as_many_names(alike: ServedNode, state: Path) -> None:
    for number in range(3 * NAMES):
        write_consumer_of(state, f"beside-{number}")
    for token in (ONE, TWO):
        for number in range(NAMES):
            register(alike, f"of-{token[9:12]}-{number}", token)
        assert (take(alike, "one-more", token).status, take(alike, "one-more", token).error) == (403, "not-allowed")


def write_consumer_of(state: Path, name: str) -> None:
    make_folder(state / "consumers")
    write_consumer(state, ConsumerFile(name, {}))


def test_whose_room_it_is_outlives_the_server(log: LogFolder, state: Path) -> None:
    with served(log.path, clients=ALIKE) as first:
        assert fills(first, "c-1", lease(first, "c-1", ONE), ONE) == (4, 4)
    with served(log.path, clients=ALIKE) as second:
        assert fills(second, "c-2", lease(second, "c-2", TWO), TWO) == (4, 4)
        mine = lease(second, "c-1", ONE)
        assert posted(second, "c-1", mine, 900, 9, ONE).status == 507
        assert take(second, "c-1", ONE, version=int(mine["X-Cdc-Lease"]), gives_back=True).status == 200
        # Whoever takes the name has what is its.
        assert posted(second, "c-1", lease(second, "c-1", TWO), 100, 10, TWO).status == 507
        assert posted(second, "c-3", lease(second, "c-3", ONE), 900, 1, ONE).status == 200


def test_a_name_from_before_counts_for_whoever_may_have_it(alike: ServedNode, state: Path) -> None:
    """A lease of an earlier version does not say who took it."""
    FolderJournal(state).append_skip("c-old", Position(FIRST, 1), CorruptError("x" * JOURNAL))
    (state / "consumers").mkdir(exist_ok=True)
    (state / "consumers" / "c-old.lease").write_text('{"version":3,"reader":"r","v":1}')
    for token, name in ((ONE, "c-1"), (TWO, "c-2")):
        assert posted(alike, name, lease(alike, name, token), 100, 1, token).status == 507


@pytest.mark.parametrize("ends", ["given back", "dropped"])
def test_entries_stay_in_the_room_of_who_put_them_there(node: ServedNode, state: Path, ends: str) -> None:
    """Also where nothing else is left of the name, for whatever time: neither another name nor the node has less."""
    headers = lease(node, "a-1")
    assert [put_aside(node, "a-1", headers, number).status for number in range(5)] == [200, 200, 200, 200, 507]
    version = int(headers["X-Cdc-Lease"])
    if ends == "dropped":
        register(node, "a-1")
        dropped(node, "a-1", lease_version(node, "a-1"))
    else:
        assert take(node, "a-1", version=version, gives_back=True).status == 200
    long_ago = time.time() - FORGOTTEN_SECONDS - 1
    os.utime(state / "consumers" / "a-1.lease", (long_ago, long_ago))
    for number in range(2, NAMES + 1):
        take(node, f"a-{number}")
    full = take(node, "a-more")
    assert (full.status, full.error) == (403, "not-allowed")
    assert "quarantine" in full.json["remedy"]
    assert put_aside(node, "a-2", lease(node, "a-2"), 1).status == 507
    beside = Quarantine(state, "beside", "n", 3000)
    beside.keep(Position(FIRST, 1), "f", CorruptError("r"), bytes(500))
    (state / "quarantine" / "a-1.jsonl").rename(state / "moved-away.jsonl")
    assert take(node, "a-more").status == 200
    assert put_aside(node, "a-2", lease(node, "a-2"), 1).status == 200


def test_a_full_room_is_not_written_anew_for_every_request(
    churned: ServedNode, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stays of a dropped consumer, the generation that its name begins with, is no reason."""
    FolderJournal(state).append([GenerationRecord(consumer="a-0", generation=2)])
    headers = lease(churned, "a-1")
    asked: list[int] = []
    compact = FolderJournal.compact

    def counted(self: FolderJournal, *given: Any, **named: Any) -> Any:
        asked.append(1)
        return compact(self, *given, **named)

    monkeypatch.setattr(FolderJournal, "compact", counted)
    answers = [posted(churned, "a-1", headers, 900, number).status for number in range(20)]
    assert answers[-10:] == [507] * 10
    assert len(asked) <= 1
    assert len(journal_of(state, "a-0")) == 1


# What the files of clients say


def test_budgets_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(f'[spark]\ntoken = "{TOKEN}"\njournal = "5m"\nquarantine = "1g"\n')
    ((_, client),) = read_tokens(file)
    assert (client.journal_bytes, client.quarantine_bytes) == (5 << 20, 1 << 30)
    file.write_text(f'[spark]\ntoken = "{TOKEN}"\n')
    ((_, client),) = read_tokens(file)
    assert (client.journal_bytes, client.quarantine_bytes) == (JOURNAL_BYTES_MAX, 256 << 20)
    for wrong in ('journal = "much"', "journal = 5", 'quarantine = "-1"', 'quarantine = ""'):
        file.write_text(f'[spark]\ntoken = "{TOKEN}"\n{wrong}\n')
        with pytest.raises(UsageError, match="of client spark"):
            read_tokens(file)


def test_an_entry_that_found_no_room_is_not_taken_for_kept(node: ServedNode, state: Path) -> None:
    headers = lease(node, "a-1")
    assert [put_aside(node, "a-1", headers, number).status for number in range(5)] == [200, 200, 200, 200, 507]
    # And what somebody on the node has moved away is no more there.
    file = state / "quarantine" / "a-1.jsonl"
    file.rename(state / "moved-away.jsonl")
    assert [put_aside(node, "a-1", headers, number).status for number in (4, 0)] == [200, 200]
    assert file.read_text().count("\n") == 2
