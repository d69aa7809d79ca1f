"""A7 through HTTP: the same segments are told, delivered and kept as where the folder is read itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailer.serve.clients import Client, Clients
from tailer.state.journal_records import AppearedRecord
from tests.cli.test_appeared import FIRST, HIGH, LOW, TABLE, cleaned, put, segment, settle, values
from tests.cli.test_appeared import follow as follow_there
from tests.helpers.cli import Result, run_cli
from tests.helpers.log_writer import LogFolder, create_payload, live
from tests.helpers.served import TOKEN, ServedNode, served, token_of
from tests.unit.serve.test_trust import ANNA, posted, taken

OTHER_TOKEN = "another-token-that-is-long-enough"


def test_it_is_told_and_delivered(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "cdc_raw")
    put(folder, HIGH, first=[create_payload(TABLE)])
    with served(folder.path) as node:

        def follow() -> Result:
            return run_cli(["follow", node.url, "--once", "--output", "json", "--consumer", "c"])

        assert follow().code == 0
        put(folder, LOW)
        ran = follow()
        assert (ran.code, ran.out) == (5, "")
        assert "has appeared below" in ran.err
        assert LOW not in cleaned(folder)
        name = next(path.stem for path in folder.path.with_name("cdc_raw.cdc_tail").glob("consumers/*.json"))
        settle(folder, "deliver", LOW, name=name)
        ran = follow()
        assert (ran.code, [json.loads(line)["columns"]["v"] for line in ran.lines]) == (0, [LOW]), ran.err
        writer = segment(LOW + 1, [1, 2, 3])
        folder.put(writer, f"{writer.sections[0].end}\n")
        assert follow().code == 5
        folder.sidecar(writer, live(writer))
        ran = follow()
        assert (ran.code, [json.loads(line)["columns"]["v"] for line in ran.lines]) == (0, [1, 2, 3]), ran.err


def values_by(node: ServedNode, name: str) -> list[int]:
    """What a consumer of the client that has `TOKEN` reads."""
    ran = run_cli(["follow", node.url, "--once", "--output", "json", "--consumer", name])
    assert ran.code == 0, ran.err
    return [json.loads(line)["columns"]["v"] for line in ran.lines]


def test_a_new_consumer_of_a_client_with_a_prefix_reads_it_behind_the_others_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A consumer of the node saw it first: its name is not shown, and the order is the one for consumers there."""
    monkeypatch.setenv("CDC_TAIL_TOKEN", TOKEN)
    folder = LogFolder(tmp_path / "cdc_raw")
    put(folder, HIGH, first=[create_payload(TABLE)])
    put(folder, HIGH + 1)
    assert values(folder, name="first-of-all") == [HIGH, HIGH + 1]
    put(folder, LOW)
    assert follow_there(folder, name="first-of-all").code == 5
    settle(folder, "deliver", LOW, name="first-of-all")
    assert values(folder, name="first-of-all") == [LOW]
    put(folder, HIGH + 2)
    with served(folder.path, clients=token_of(Client("spark", prefix="x-"))) as node:
        assert values_by(node, "x-new") == [HIGH, HIGH + 1, LOW, HIGH + 2] == values(folder, name="there")
        assert values_by(node, "x-new") == []
        told = node.ask("GET", "/records", token=TOKEN)
        assert b"first-of-all" not in told.body
        told_of = [each["consumer"] for each in told.json["records"] if each["kind"].endswith("appeared")]
        assert set(told_of) == {"", "x-new"}


@pytest.mark.parametrize("trusted", [False, True])
def test_what_a_consumer_of_another_client_saw_counts_where_that_may_define_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool
) -> None:
    """Else a client could put the log into another order for all others."""
    monkeypatch.setenv("CDC_TAIL_TOKEN", OTHER_TOKEN)
    folder = LogFolder(tmp_path / "cdc_raw")
    put(folder, HIGH, first=[create_payload(TABLE)])
    clients = {TOKEN: Client("spark", prefix="x-"), OTHER_TOKEN: Client("flink", "y-", defines_for_all=trusted)}
    known = Clients({}, [(token.encode(), client) for token, client in clients.items()])
    with served(folder.path, clients=known) as node:
        assert values_by(node, "y-first") == [HIGH]
        put(folder, LOW)
        assert run_cli(["follow", node.url, "--once", "--consumer", "y-first"]).code == 5
        told = node.ask("GET", "/records", token=TOKEN)
        assert b"y-first" not in told.body
        assert [each["consumer"] for each in told.json["records"] if each["kind"] == "appeared"] == [""] * trusted
    # On the node too, where a person has to say what the definition is.
    put(folder, HIGH + 1)
    ran = run_cli(["follow", str(folder.path), "--once", "--output", "json", "--consumer", "there"])
    if trusted:
        assert (ran.code, [json.loads(line)["columns"]["v"] for line in ran.lines]) == (0, [HIGH, LOW, HIGH + 1])
    else:
        assert ran.code == 5, ran.err
        assert "the segments were not written in the order of their ids" in ran.err


def test_no_client_changes_the_order_of_the_log_for_others(tmp_path: Path) -> None:
    """By saying that a segment appeared below another one, which did not."""
    folder = LogFolder(tmp_path / "cdc_raw")
    put(folder, HIGH, first=[create_payload(TABLE)])
    put(folder, HIGH + 1)
    told = AppearedRecord(consumer=ANNA.consumer, segment=FIRST + HIGH, behind=FIRST + HIGH + 1, end=None)
    with served(folder.path, clients=Clients({}, ANNA.clients())) as node:
        assert posted(node, ANNA.token(), told, ANNA.consumer, taken(node, ANNA)).status == 200
    assert values(folder, name="of-the-node") == [HIGH, HIGH + 1]
