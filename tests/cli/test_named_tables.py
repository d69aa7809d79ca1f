"""`--table`: a name that nothing defines is refused before anything is kept, a glob that covers nothing is told of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import tailer
from tailer.errors import DefinitionError
from tailer.options.tail import TailOptions
from tailer.state.log_folder import state_folder
from tailer.tail.tail import Tail
from tests.conftest import FreshFolder
from tests.helpers.cli import Result, run_cli
from tests.helpers.compare import same_rows, without_truncates
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of, simple_table
from tests.helpers.logs.growing import GrowingLog
from tests.helpers.tails import open_tail
from tests.oracle import expected

FIRST = 1_700_000_000_001
ORDERS = simple_table("shop", "orders", 1)
ITEMS = simple_table("shop", "items", 2)
VIEWS = simple_table("shop", "views", 3, cdc=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`shop.orders` is created in the first segment, `shop.items` in the second; `shop.views` does not capture."""
    first = [create_payload(ORDERS), create_payload(VIEWS)]
    rows = [insert_payload(ORDERS, 1, "a", 10), insert_payload(VIEWS, 2, "a", 20)]
    second = [create_payload(ITEMS), insert_payload(ITEMS, 3, "a", 30)]
    made = LogFolder(tmp_path / "cdc_raw")
    for writer in (segment_of(FIRST, [first, rows]), segment_of(FIRST + 1, [second])):
        made.put(writer, completed(writer))
    return made.path


def follow(folder: Path, *options: str) -> Result:
    return run_cli(["follow", folder, "--once", "--output", "json", *options])


def values(result: Result) -> list[int]:
    return [json.loads(line)["columns"]["v"] for line in result.lines]


def said(result: Result) -> list[str]:
    return result.err.splitlines()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("shop.ordres", "shop.orders"),
        ("Shop.Orders", "shop.orders"),
        ("items", "shop.items"),
        ("ship.views", "shop.views"),
    ],
)
def test_a_name_that_nothing_defines_is_3_with_the_nearest(name: str, meant: str, folder: Path) -> None:
    result = follow(folder, "--table", name, "--consumer", "billing")
    assert (result.code, result.out) == (3, "")
    assert f"no definition for table {name}" in result.err
    assert f"expected {meant}" in result.err
    assert result.err.count("\n") == 1
    assert not list(state_folder(folder).glob("consumers/*.json")), "nobody holds segments back for a misspelt name"


def test_one_of_several_is_enough(folder: Path) -> None:
    result = follow(folder, "--table", "shop.orders", "--table", "shop.itmes")
    assert (result.code, result.out) == (3, "")
    assert "no definition for table shop.itmes" in result.err


def test_a_definition_anywhere_in_the_log_is_found_in_the_first_look(folder: Path) -> None:
    result = follow(folder, "--table", "shop.items")
    assert (result.code, values(result), said(result)) == (0, [30], [])
    assert values(follow(folder, "--table", "shop.items", "--from", f"{FIRST + 1}:0", "--consumer", "x")) == [30]


def test_one_that_an_earlier_run_learnt_is_known_though_its_segment_is_gone(folder: Path) -> None:
    assert follow(folder, "--consumer", "billing").code == 0
    for file in folder.glob(f"CommitLog-7-{FIRST}*"):
        file.unlink()
    result = follow(folder, "--table", "shop.orders")
    assert (result.code, values(result)) == (0, []), result.err
    assert follow(folder, "--table", "shop.ordres", "--consumer", "billing").code == 3, "a later run looks too"


def test_one_that_a_file_defines_is_known(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "schema.cql"
    file.write_text("CREATE TABLE shop.later (id int PRIMARY KEY) WITH ID = 11111111-1111-1111-1111-111111111111;\n")
    assert follow(folder, "--table", "shop.later").code == 3
    assert follow(folder, "--table", "shop.later", "--schema", str(file)).code == 0


def test_tables_of_the_server_are_known_by_their_names(folder: Path) -> None:
    assert follow(folder, "--table", "system.local").code == 0
    assert follow(folder, "--table", "system.locl").code == 3


def test_a_table_may_come_when_that_was_said(folder: Path) -> None:
    result = follow(folder, "--table", "shop.later", "--table-may-come", "--consumer", "billing")
    assert (result.code, result.out) == (0, "")
    assert "nothing here defines table shop.later yet" in result.err


def test_its_rows_come_once_it_is_there(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, FIRST)
    log.section([create_payload(ITEMS)])
    log.publish()
    with open_tail(log.folder, TailOptions(tables=("shop.orders",), tables_may_come=True)) as tail:
        told = list(notices(tail))
        assert [line for line in told if "shop.orders" in line] == [
            "nothing here defines table shop.orders yet: its rows come once something does"
        ]
        log.section([create_payload(ORDERS), insert_payload(ORDERS, 1, "a", 10)])
        log.publish()
        step = tail.step()
        assert sum(len(batch) for task in step.tasks for batch in tail.read(task)) == 1


def notices(tail: Tail) -> Iterator[str]:
    """What is said until nothing is new."""
    while True:
        step = tail.step()
        yield from step.notices
        if not (step.tasks or step.moved):
            return
        for task in step.tasks:
            for _ in tail.read(task):
                pass
        tail.advance(step)


def test_a_glob_that_covers_nothing_is_told_of(folder: Path) -> None:
    result = follow(folder, "--table", "shoop.*")
    assert (result.code, result.out) == (0, "")
    assert "no table that is known here is covered by shoop.*" in result.err
    result = follow(folder, "--table", "shop.v*")
    assert (result.code, result.out) == (0, "")
    assert "cdc = false: shop.views" in result.err


def test_a_glob_takes_the_tables_that_capture_and_says_nothing(folder: Path) -> None:
    result = follow(folder, "--table", "shop.*")
    assert (result.code, values(result), said(result)) == (0, [10, 30], [])


def test_by_its_name_a_table_is_taken_whatever_it_is(folder: Path) -> None:
    result = follow(folder, "--table", "shop.views")
    assert (result.code, values(result)) == (0, [20])
    assert "shop.views does not capture (cdc = false)" in result.err


def test_a_glob_gives_what_the_server_captured(sets_root: Path, fresh_folder: FreshFolder) -> None:
    """The set has tables without the flag, and one whose flag goes off and on."""
    folder = fresh_folder("50-cases")
    result = follow(folder, "--table", "cdc.*")
    assert result.code == 0, result.err
    want = [row for row in expected(sets_root / "50-cases", folder).rows if row.data["keyspace"] == "cdc"]
    same_rows(want, without_truncates(result.lines))


def test_python_refuses_alike(folder: Path) -> None:
    log = tailer.open(folder, tables=["shop.ordres"])
    with pytest.raises(DefinitionError, match=r"expected shop\.orders"):
        list(log.read())
    with pytest.raises(DefinitionError, match=r"expected shop\.orders"):
        list(log.follow(once=True))
    late = tailer.open(folder, tables=["shop.ordres"], tables_may_come=True)
    assert list(late.read()) == []
    assert any("shop.ordres" in line for line in late.notices)
    glob = tailer.open(folder, tables=["shop.x*"])
    assert list(glob.read()) == []
    assert any("shop.x*" in line for line in glob.notices)


def test_the_typed_form_has_the_nearest_name_too(folder: Path) -> None:
    result = follow(folder, "--typed", "shop.ordres")
    assert (result.code, result.out) == (3, "")
    assert "expected shop.orders" in result.err
    assert "may-come" not in result.err


def test_a_log_that_cannot_be_read_is_named(sets_root: Path, fresh_folder: FreshFolder) -> None:
    result = follow(fresh_folder("50-aes"), "--table", "cdc.filler")
    assert (result.code, result.out) == (3, "")
    assert "cannot be read" in result.err
    assert "keystore" in result.err


def test_schema_shows_what_is_known_and_refuses_the_rest(folder: Path) -> None:
    shown = run_cli(["schema", folder, "--output", "json", "--table", "shop.orders", "--table", "shop.itmes"])
    assert (shown.code, [json.loads(line)["table"] for line in shown.lines]) == (3, ["orders"])
    assert "expected shop.items" in shown.err
    changes = run_cli(["schema", folder, "--output", "json", "--changes", "--table", "shop.itmes"])
    assert (changes.code, changes.out) == (3, "")
    assert run_cli(["schema", folder, "--changes", "--table", "shop.items"]).code == 0
    globbed = run_cli(["schema", folder, "--output", "json", "--table", "shop.*"])
    assert [json.loads(line)["table"] for line in globbed.lines] == ["items", "orders", "views"]
