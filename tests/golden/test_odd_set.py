"""The recorded set `odd-50`: images and kept tables through the command are what the server answered to SELECT.

Its definitions change under the rows: columns are dropped and added again, with another type and with an earlier drop
time; tables, types and keyspaces are made again, with the same id and with another one.
"""

from __future__ import annotations

import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tailer.options.tail import TailOptions
from tailer.schema.model import TableDefinition
from tests.golden.test_kept_tables import shown, unsigned
from tests.helpers.cli import run_process
from tests.helpers.rebuilt import bare, known_tables, spelled
from tests.helpers.sets import extract
from tests.oracle.jsontext import dumps, loads

ARCHIVE = Path(__file__).parents[2] / "fixtures" / "cases" / "odd-50.tar.xz"
NOT_IN_THE_LOG = {"nodur.t": "its keyspace had durable_writes = false when rows 1 and 2 were written"}
NOT_SELECTED = ("cdc.utf8", "cdc.utf8_pk")
"""The server cannot print them; its view of the log has their bytes."""
TEXTS = {
    "c080": "\0",
    "61c08062": "a\0b",
    "eda0bdedb880": "\U0001f600",
    "eda0bd": "\ufffd",
    "efbfbe": "\ufffe",
    "736f756e64": "sound",
    "62": "b",
}
"""Values of text by their bytes; of keys those that are no UTF-8 are `cdc-tail-bytes:` and these digits."""
OTHER_KEY = "again.t"
"""Two tables of one name, of which the first had another type in its key."""
NOT_COMPARED = ("cdc.filler",)
"""SELECT was asked of a replay, into which the rows that fill its segments were not written. It is read all the same:
`"CDC".filler` and `cdc.filler` are one name for SQLite."""
FOLDS = "cdc.odd_names"
"""Its columns `A` and `a` are one for SQLite."""
LEFT_OUT = ("system_app.peers", "cdc.mvc", "nodur.t")

SHOWN_SINCE_NOT_COMPACT = {"cdc.cd_keys": "value"}
"""A column of type `empty`, which SELECT shows once the table is no longer compact, and change rows never have."""
TYPED_WITH = {"cdc.odd_names": ("--meta-prefix", "__"), "cdc.ts_odd": ("--on-error", "quarantine")}
"""What the sentence of a plain run says: `_op` is a column of the first, a time of the second is too big."""


@pytest.fixture(scope="module", autouse=True)
def _long_numbers() -> Iterator[None]:
    """Let Python read numbers of more than 4,300 digits."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(before)


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd")
    extract(ARCHIVE, folder)
    return folder / "odd-50"


@pytest.fixture(scope="module")
def selected(odd: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for line in (odd / "select.jsonl").read_bytes().splitlines():
        told = loads(line)
        cells = {bare(name): cell for name, cell in told["row"].items()}
        cells.pop(SHOWN_SINCE_NOT_COMPACT.get(told["table"], ""), None)
        found[told["table"]].append(spelled(cells))
    return found


def command(odd: Path, state: Path, *more: str) -> list[str | Path]:
    left_out = [word for table in LEFT_OUT for word in ("--exclude", table)]
    folder = ["follow", odd / "cdc_raw", "--state", state, "--stopped", "--once", "--consumer", "c"]
    return [*folder, *left_out, "--image", "both", *more]


def final_tables(odd: Path) -> dict[str, TableDefinition]:
    """The tables that are there at the end, by name."""
    known = known_tables(odd / "cdc_raw", TailOptions())
    return {each.definition.name: each.definition for each in known.values()}


def folded(lines: list[str]) -> dict[tuple[Any, ...], Any]:
    """What images add up to: by table id, partition, clustering and kind of row, the last `after`."""
    fold: dict[tuple[Any, ...], Any] = {}
    for line in lines:
        image = loads(line)
        if image["op"] in ("truncate", "schema", "delete_range", "delete_partition"):
            continue
        if image["op"] == "drop":
            fold = {key: after for key, after in fold.items() if key[0] != image["table_id"]}
            continue
        assert image["complete"], line
        key = [dumps(image[name]) for name in ("partition_key", "clustering")]
        fold[image["table_id"], *key, image["is_static"]] = image["after"]
    return fold


def rows_of(fold: dict[tuple[Any, ...], Any], definition: TableDefinition) -> Iterator[str]:
    """The rows of a table, each joined with the static row of its partition. Key columns have the names of now."""
    keys = [column.name for column in (*definition.partition_key, *definition.clustering)]
    hidden = {column.name for column in definition.columns if column.type == "empty"}
    mine = {key: after for key, after in fold.items() if key[0].replace("-", "") == definition.id and after is not None}
    statics = {key[1]: after for key, after in mine.items() if key[3]}
    live = {column.name for column in definition.columns if not column.dropped} - hidden
    joined = set()
    for (_, partition, clustering, is_static), after in mine.items():
        if is_static:
            continue
        joined.add(partition)
        values = [*loads(partition).values(), *(loads(clustering) or {}).values()]
        data = {**statics.get(partition, {}), **after}
        yield spelled({**{name: data[name] for name in data if name in live}, **dict(zip(keys, values, strict=True))})
    for partition, after in statics.items():
        if partition not in joined:
            yield spelled({name: value for name, value in after.items() if name in live})


def test_images_add_up_to_select(odd: Path, selected: dict[str, list[str]], tmp_path: Path) -> None:
    ran = run_process(command(odd, tmp_path / "state", "--output", "json"))
    assert ran.code == 0, ran.err
    fold, wrong = folded(ran.lines), {}
    for name, definition in final_tables(odd).items():
        if name in selected and name not in (*LEFT_OUT, *NOT_COMPARED):
            found, expected = sorted(rows_of(fold, definition)), sorted(selected[name])
            if found != expected:
                wrong[name] = set(found) ^ set(expected)
    assert not wrong


def test_a_kept_table_is_what_select_shows(odd: Path, selected: dict[str, list[str]], tmp_path: Path) -> None:
    to = ("--to", f"sqlite:{tmp_path / 'kept.db'}", "--mode", "table", "--into", "{keyspace}_{table}")
    stopped = run_process(command(odd, tmp_path / "state", *to))
    assert (stopped.code, "takes A and a for one column" in stopped.err) == (7, True), stopped.err
    # It is the only one, and it is given up as the sentence says.
    assert f"the images of {FOLDS} wait" in stopped.err
    assert "leave the table out (--exclude) and delete its rows of cdc_tail_waiting" in stopped.err
    with closing(sqlite3.connect(tmp_path / "kept.db")) as database, database:
        assert database.execute("DELETE FROM cdc_tail_waiting WHERE source = ?", (FOLDS,)).rowcount
    ran = run_process(command(odd, tmp_path / "state", *to, "--exclude", FOLDS))
    assert (ran.code, [line for line in ran.err.splitlines() if "U+FFFD" not in line]) == (0, [])
    wrong = {}
    with closing(sqlite3.connect(tmp_path / "kept.db")) as database:
        targets = dict(database.execute("SELECT source, target FROM cdc_tail_tables WHERE target NOT LIKE '%_before%'"))
        assert targets["CDC.filler"].casefold() != targets["cdc.filler"].casefold()
        database.row_factory = sqlite3.Row
        for name, definition in final_tables(odd).items():
            if name not in selected or name in (*LEFT_OUT, *NOT_COMPARED, FOLDS):
                continue
            live = {column.name for column in definition.columns if not column.dropped}
            rows = [dict(row) for row in database.execute(f'SELECT * FROM "{targets[name]}"')]
            own = ("cdc_tail_seq", "cdc_tail_complete")
            kept = [{column: value for column, value in row.items() if column in live or column in own} for row in rows]
            found = sorted(shown(row, definition) for row in kept)
            expected = sorted(unsigned(row, definition) for row in selected[name])
            if found != expected:
                wrong[name] = set(found) ^ set(expected)
    assert not wrong


def test_a_table_whose_columns_fold_goes_with_mode_changes(odd: Path, tmp_path: Path) -> None:
    """As the sentence says."""
    words: list[str | Path] = ["follow", odd / "cdc_raw", "--stopped", "--once", "--consumer", "c"]
    words += ["--state", tmp_path / "state"]
    words += ["--table", FOLDS, "--image", "after", "--to", f"sqlite:{tmp_path / 'kept.db'}", "--into", "changes"]
    ran = run_process([*words, "--mode", "changes"])
    assert ran.code == 0, ran.err
    shown = run_process(["follow", odd / "cdc_raw", "--stopped", "--once", "--table", FOLDS, "--image", "after",
                         "--state", tmp_path / "other", "--output", "json"])  # fmt: skip
    with closing(sqlite3.connect(tmp_path / "kept.db")) as database:
        found = [loads(after) for (after,) in database.execute("SELECT after FROM changes ORDER BY seq") if after]
    assert found == [after for after in (loads(line)["after"] for line in shown.lines) if after]
    assert found


def test_every_typed_table_gets_through(odd: Path, selected: dict[str, list[str]], tmp_path: Path) -> None:
    failed = {}
    for name in final_tables(odd):
        if name not in LEFT_OUT:
            words: list[str | Path] = ["follow", odd / "cdc_raw", "--stopped", "--once", "--typed", name]
            words += ["--state", tmp_path / name.replace(".", "_"), "--output", "json", "--decimals", "string"]
            ran = run_process([*words, *TYPED_WITH.get(name, ())])
            if name == OTHER_KEY:
                assert (ran.code, "has a key column" in ran.err) == (3, True), ran.err
                begin = ran.err.partition("--from ")[2].partition(" ")[0]
                ran = run_process([*words, "--from", begin])
                assert [loads(line)["id"] for line in ran.lines] == [loads(row)["id"] for row in selected[name]]
            if ran.code != 0:
                failed[name] = ran.err
    assert not failed


def key_text(digits: str) -> str:
    return "sound" if digits == "736f756e64" else f"cdc-tail-bytes:{digits}"


def viewed(odd: Path, table: str) -> list[tuple[str, Any, dict[str, Any], str]]:
    """The server's view of a table's rows, in log order: op, clustering, values by column, token."""
    found = []
    for file in sorted((odd / "expected").iterdir()):
        for line in file.read_bytes().splitlines():
            for update in loads(line)["updates"]:
                if (update["keyspace"], update["table"]) == ("cdc", table):
                    found += [_viewed(each, update["token"]) for each in update["unfiltereds"]]
    return [row for row in found if row is not None]


def _viewed(each: dict[str, Any], token: str) -> tuple[str, Any, dict[str, Any], str] | None:
    clustering = [key_text(digits) for digits in each["clustering_hex"]]
    if each["kind"] == "marker":
        return None if each["bound"] == "INCL_END_BOUND" else ("delete_range", clustering, {}, token)
    values: dict[str, Any] = {}
    for cell in each["cells"]:
        value: Any = TEXTS[cell["hex"]] if cell["hex"] in TEXTS else int(cell["hex"], 16)
        values[cell["column"]] = [*values.get("l", ()), value] if cell["column"] == "l" else value
    return "insert", clustering or None, values, token


@pytest.mark.parametrize("form", [(), ("--typed",)], ids=["generic", "typed"])
@pytest.mark.parametrize(("table", "entries"), [("utf8", 7), ("utf8_pk", 1), ("utf8_ck", 3)])
def test_texts_that_utf8_refuses(odd: Path, tmp_path: Path, table: str, entries: int, form: tuple[str, ...]) -> None:
    expected = viewed(odd, table)
    assert len(expected) == entries
    select = ("--typed", f"cdc.{table}") if form else ("--table", f"cdc.{table}")
    words = ["follow", odd / "cdc_raw", "--stopped", "--once", "--state", tmp_path, "--output", "json", *select]
    ran = run_process(words)
    assert ran.code == 0, ran.err
    rows = list(map(loads, ran.lines))
    assert list(map(_came_typed if form else _came, rows)) == expected
    if table == "utf8_pk":
        key = rows[0]["k"] if form else rows[0]["partition_key"]["k"]
        assert key == "cdc-tail-bytes:61c080"


def _came(row: dict[str, Any]) -> tuple[str, Any, dict[str, Any], str]:
    at = row["clustering"] or (row["range"] or {}).get("start")
    columns = dict(row["columns"] or {})
    if "l" in columns:
        columns["l"] = [value for _, value in columns["l"]["put"]]
    return row["op"], None if at is None else list(at.values()), columns, str(row["token"])


def _came_typed(row: dict[str, Any]) -> tuple[str, Any, dict[str, Any], str]:
    names = [name for name in ("v", "l") if row.get(name) is not None]
    start = None if row["_range"] is None else list(row["_range"]["start"].values())
    at = start if "c" not in row or row["c"] is None else [row["c"]]
    return row["_op"], at, {name: row[name] for name in names}, str(row["_token"])
