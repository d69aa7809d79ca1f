"""How much of the node's state one client may fill: names, journal, quarantine; and that others have their own room."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import CorruptError, QuarantineFullError, UsageError
from tailer.position import Position
from tailer.serve.clients import JOURNAL_BYTES_MAX, Client, Clients, read_tokens
from tailer.serve.leases import FORGOTTEN_SECONDS
from tailer.state.consumers import take_consumer
from tailer.state.folder_journal import FolderJournal
from tailer.state.lock import state_lock
from tailer.state.quarantine import Quarantine
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
