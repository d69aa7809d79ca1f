"""`--output pretty` over a recorded server's log: what is shown of a change is what the statement said."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

from tests.conftest import FreshFolder
from tests.helpers.cli import run_cli

SET = "50-cases"
WIDE = {"COLUMNS": "1000"}
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
COLLECTIONS = [
    # INSERT: l [3, 1, 2], lt ['x', '', 'z'], s {'b', 'a', ''}, si {3, -1}, m {'k': 1, '': 2}, mu {ID: 'tu'}, …
    'v=0 l=[3,1,2] lt=["x","","z"] m={"":2,"k":1} md={"5":{"a":"b"}} mu={"ID":"tu"} s=["","a","b"] si=[-1,3]',
    "l=[9]",  # UPDATE cdc.coll SET l = [9]
    "l + 10 + 11",  # l = l + [10, 11]
    "l + 7 + 8",  # l = [7, 8] + l
    "l + 80",  # l[1] = 80
    "l - #ID",  # l = l - [10]
    "l - #ID",  # DELETE l[0]
    's + "c" + "d"',  # s = s + {'c', 'd'}
    's - "a"',  # s = s - {'a'}
    "s=null",  # s = {}
    "s=null",  # DELETE s
    'm["k"]=5 m["n"]=6',  # m['k'] = 5, m['n'] = 6
    'm["p"]=7',  # m = m + {'p': 7}
    'm["k"]=null',  # m = m - {'k'}
    'm["n"]=null',  # m['n'] = null
    'm["p"]=null',  # DELETE m['p']
    "lt=null m=null",  # m = null, lt = null
    'v=5 m={"new":1} s + "only add"',  # m = {'new': 1}, s = s + {'only add'}, v = 5
]
COUNTERS = [
    'ck="a"  c=1',  # c = c + 1
    'ck="a"  c=42 d=-5',  # c = c + 41, d = d - 5
    'ck="a"  c=-58',  # c = c - 100
    'ck="b"  c=9223372036854775807',  # c = c + 9223372036854775807
    'ck="a"  d=null',  # DELETE d
]

Shown = Callable[..., list[str]]


@pytest.fixture(scope="module")
def statements(sets_root: Path) -> list[str]:
    return (sets_root / SET / "statements.cql").read_text("utf-8").splitlines()


@pytest.fixture
def shown(fresh_folder: FreshFolder) -> Shown:
    """`shown(option…)`: the lines of `follow`, without dates."""

    def run(*options: str) -> list[str]:
        command = ["follow", fresh_folder(SET), "--once", "--stopped", "--output", "pretty", *options]
        result = run_cli(command, WIDE)
        assert result.code == 0, result.err
        return [line for line in result.lines if not line.startswith("──")]

    return run


def of(lines: list[str], table: str, key: str) -> Iterator[str]:
    """What is behind the key in the lines of a partition."""
    for line in lines:
        if found := re.search(rf"  {re.escape(table)} +{re.escape(key)} +(.*)$", line):
            yield found[1]


def test_collections_show_what_was_done_to_their_elements(shown: Shown) -> None:
    found = [re.sub(UUID, "ID", text) for text in of(shown("--table", "cdc.coll"), "cdc.coll", "id=1")]
    assert found == COLLECTIONS


def test_counters_show_their_sum(shown: Shown) -> None:
    assert list(of(shown("--table", "cdc.counters"), "cdc.counters", "id=1"))[: len(COUNTERS)] == COUNTERS


def as_python(condition: str) -> str:
    """A WHERE, of CQL or of ours, as an expression of Python: rows and tuples compare as a server compares them."""
    words = {" = ": " == ", " AND ": " and ", " OR ": " or ", " IN ": " in "}
    for word, other in words.items():
        condition = condition.replace(word, other)
    return condition


@pytest.mark.parametrize("table", ["range1", "range3", "range3_desc", "range3_mixed", "range3_mixed2"])
def test_ranges_hold_for_the_rows_that_the_statement_deleted(table: str, shown: Shown, statements: list[str]) -> None:
    """Whatever the clustering order: the statements are the same for each."""
    name = f"cdc.{table}"
    deletes = [re.fullmatch(rf"DELETE FROM {name} WHERE id = (\d+) AND (.*);", line) for line in statements]
    lines = shown("--table", name)
    grid = [
        dict(zip("abc", values, strict=True), ck=values[0])
        for values in product(range(11), ["", "B", "m", "x", "xx", "y", "z"], range(10))
    ]
    checked = 0
    for delete in filter(None, deletes):
        texts = of([line for line in lines if "  delete " in line], name, f"id={delete[1]}")
        # A row that was deleted by its whole key shows that.
        conditions = [re.sub(r"(\w+)=(\S+)(?: |$)", r"\1 = \2 AND ", text).removesuffix(" AND ") for text in texts]
        told = [as_python(condition) for condition in conditions]
        meant = as_python(delete[2])
        for row in grid:
            assert any(eval(each, {}, row) for each in told) == bool(eval(meant, {}, row)), (delete[0], told, row)
        checked += 1
    assert checked >= 10


@pytest.mark.parametrize("table", ["range3", "range3_desc"])
def test_ranges_are_spelled_as_the_statement_was(table: str, shown: Shown, statements: list[str]) -> None:
    name = f"cdc.{table}"
    lines = [line for line in shown("--table", name) if "  delete range " in line]
    for key, words in (
        (2, "a = 1 AND b > 'x'"),
        (3, "a = 1 AND b <= 'x'"),
        (5, "(a, b) > (1, 'x')"),
        (6, "(a, b, c) <= (1, 'x', 3)"),
        (7, "(a, b) >= (1, 'x') AND (a, b) < (4, 'y')"),
        (11, "a < 4"),
        (12, "a >= 2 AND a <= 3"),
    ):
        assert f"DELETE FROM {name} WHERE id = {key} AND {words};" in statements
        assert list(of(lines, name, f"id={key}")) == [words.replace("'", '"')]


SAME = [
    "cdc.coll", "cdc.counters", "cdc.counters_static", "cdc.range3", "cdc.range3_desc", "cdc.ttl", "cdc.deletes",
    "cdc.statics", "cdc.timestamps", "cdc.pk_decimal",
]  # fmt: skip


@pytest.mark.parametrize("table", SAME)
def test_typed_rows_are_shown_as_generic_ones(table: str, shown: Shown) -> None:
    typed = shown("--typed", table)
    assert typed == shown("--table", table)
    assert typed
