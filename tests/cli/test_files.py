"""`follow --to files:DIR` and `ship` as commands: the rows of `--output json`, which are held to the server's view."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from tests.conftest import FreshFolder
from tests.helpers.amount import ALL
from tests.helpers.cli import run_cli, run_process
from tests.helpers.data_files import indexes, lines_of
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of, simple_table
from tests.helpers.sets import PLAIN
from tests.native.logs import folder_of
from tests.native.test_following import mixed_log

LIMITED = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
"""
SETS = PLAIN if ALL else ("50-cases", "50-torn")


def follow(folder: object, *more: object) -> tuple[str, ...]:
    return ("follow", str(folder), "--once", *map(str, more))


@pytest.mark.parametrize("name", SETS)
def test_rows_are_those_of_output_json(fresh_folder: FreshFolder, tmp_path: Path, name: str) -> None:
    printed = run_cli([*follow(fresh_folder(name)), "--output", "json"])
    words = follow(fresh_folder(name), "--consumer", "c", "--to", f"files:{tmp_path / 'out'}", "--roll-bytes", "20k")
    ran = run_cli(words)
    assert (ran.code, ran.out) == (printed.code, "")
    assert lines_of(tmp_path / "out" / "local") == [json.loads(line) for line in printed.lines]
    assert len(indexes(tmp_path / "out" / "local")) > 1 or len(printed.lines) < 500
    assert run_cli(words).code == printed.code
    assert len(lines_of(tmp_path / "out" / "local")) == len(printed.lines)
    assert run_cli(["ship", tmp_path / "out", "--once", "--to", f"files:{tmp_path / 'two'}"]).code == 0
    assert lines_of(tmp_path / "two" / "local") == [json.loads(line) for line in printed.lines]


def test_typed_rows_in_arrow(fresh_folder: FreshFolder, tmp_path: Path) -> None:
    out = tmp_path / "out"
    typed = ("--typed", "cdc.filler")
    assert run_cli(
        follow(fresh_folder("50-cases"), "--consumer", "c", "--to", f"files:{out}", "--format", "arrow", *typed)
    ).code == 0  # fmt: skip
    printed = run_cli([*follow(fresh_folder("50-cases"), *typed), "--output", "json"])
    (index,) = indexes(out / "local")
    assert (index["typed"], index["rows"], index["format"]) == ("cdc.filler", len(printed.lines), "arrow")
    table = pa.ipc.open_file(out / "local" / index["data"]).read_all()
    rows = [json.loads(line) for line in printed.lines]
    assert table.column("_event_id").to_pylist() == [row["_event_id"] for row in rows]
    assert table.schema.names == list(rows[0])
    assert table.column("id").to_pylist() == [row["id"] for row in rows]


def test_several_nodes_and_the_list_of_shippers(tmp_path: Path) -> None:
    one, two = (folder_of(tmp_path / name, *mixed_log()) for name in ("one", "two"))
    out = tmp_path / "out"
    printed = [json.loads(line) for line in run_cli([*follow(one), "--output", "json"]).lines]
    assert run_cli(follow(f"n1={one},n2={two}", "--consumer", "c", "--to", f"files:{out}")).code == 0
    for node in ("n1", "n2"):
        assert [row["columns"] for row in lines_of(out / node)] == [row["columns"] for row in printed]
    assert run_cli(["ship", out, "--list"]).lines == ["no shipper is registered"]
    assert run_cli(["ship", out, "--once", "--to", f"files:{tmp_path / 'two'}", "--consumer", "copy"]).code == 0
    listed = run_cli(["ship", out, "--list"]).lines
    newest = indexes(out / "n1")[-1]["number"]
    assert [line.split()[:7] for line in listed] == [
        ["copy", node, "sent", "up", "to", str(newest), "of"] for node in ("n1", "n2")
    ]
    dropped = run_cli(["ship", out, "--drop", "--consumer", "copy"])
    assert (dropped.code, dropped.out) == (0, "")
    assert run_cli(["ship", out, "--drop", "--consumer", "copy"]).code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--to", "ftp://host"), "expected kafka, files:DIR"),
        ((), "expected kafka, files:DIR"),
        (("--to", "http://ann:secret@host/"), "without user and password"),
        (("--to", "files:x", "--format", "elasticsearch-bulk"), "expected --format files, found elasticsearch-bulk"),
        (("--to", "http://host/", "--format", "elasticsearch-bulk", "--index", "all"), "{keyspace} and {table}"),
        (("--to", "files:x", "--consumer", "a/b"), "--consumer"),
    ],
)
def test_wrong_words_are_exit_2(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    (tmp_path / "out").mkdir()
    told = run_cli(["ship", tmp_path / "out", "--once", *words])
    assert (told.code, said in told.err) == (2, True)
    assert "secret" not in told.err
    # Nobody was registered.
    assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    told = run_cli(["ship", tmp_path / "none", "--to", f"files:{tmp_path / 'two'}"])
    assert (told.code, "no folder of data files" in told.err) == (2, True)


def test_a_second_follower_into_one_folder(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "log", *mixed_log())
    out = tmp_path / "out"
    assert run_cli(follow(folder, "--consumer", "a", "--to", f"files:{out}")).code == 0
    told = run_cli(follow(folder, "--consumer", "b", "--to", f"files:{out}"))
    assert (told.code, "data files of another log or consumer" in told.err) == (6, True)


def test_a_disk_that_takes_no_large_file(tmp_path: Path) -> None:
    """The system refuses what goes beyond a limit, as a full disk does; with room the same command goes on."""
    table, random = simple_table("ks", "t"), Random(7)
    rows = [insert_payload(table, value, random.randbytes(100).hex(), value) for value in range(300)]
    made = segment_of(1_700_000_000_001, [[create_payload(table)], rows])
    log = LogFolder(tmp_path / "cdc_raw")
    log.put(made, completed(made))
    words = follow(log.path, "--consumer", "c", "--to", f"files:{tmp_path / 'out'}")
    ran = run_process(words, before=LIMITED)
    assert (ran.code, "File too large" in ran.err) == (8, True)
    assert [path.name for path in (tmp_path / "out" / "local").iterdir()] == ["lock"]
    assert run_cli(words).code == 0
    assert [row["columns"]["v"] for row in lines_of(tmp_path / "out" / "local")] == list(range(300))
