"""`cdc-tail follow --image … --to …` as users have it: the images of all nodes in one outlet, each once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.cli.test_follow_image import images, logs, path_of
from tests.helpers.cli import run_cli
from tests.helpers.data_files import indexes, lines_of
from tests.unit.spark.test_nodes_away import Log

__all__ = ["logs"]


def words(logs: dict[str, Log], out: Path, *more: str, image: str = "both", consumer: str = "c") -> list[str]:
    run = ["follow", path_of(logs), "--once", "--consumer", consumer, "--image", image]
    return [*run, "--to", f"files:{out}", *more]


def seen(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """But for the time at which they were made."""
    return [{name: value for name, value in row.items() if not name.endswith("seq")} for row in rows]


def test_data_files_of_all_nodes_images(logs: dict[str, Log], tmp_path: Path) -> None:
    out = tmp_path / "out"
    printed = images(run_cli(["follow", path_of(logs), "--once", "--image", "both", "--output", "json"]).lines)
    ran = run_cli(words(logs, out))
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    rows = lines_of(out / "images")
    # Once each node's log has shown the CREATE, an image reports that a row is complete.
    assert sorted((row["after"]["ck"], row["op"]) for row in rows)[1::2] == [("a", "upsert"), ("b", "upsert")]
    assert [row["complete"] for row in rows if row["op"] == "read"] == [True, True]
    assert list(rows[0]) == list(printed[0])
    (index,) = indexes(out / "images")
    assert (index["images"], index["typed"], index["tables"][0]["table"]) == (True, None, "ks.t")
    assert index["tables"][0]["definition"]["table"] == "t"
    assert sorted(index["offset"]) == ["images", "v"]
    assert run_cli(words(logs, out)).code == 0
    for name in ("n1", "n3"):
        logs[name].write("c")
    assert run_cli(words(logs, out)).code == 0
    last = lines_of(out / "images")[-1]
    assert (last["op"], last["before"], last["after"]["ck"]) == ("insert", None, "c")
    assert len(lines_of(out / "images")) == 5
    assert [each["number"] for each in indexes(out / "images")] == [1, 2]


def test_data_files_in_arrow(logs: dict[str, Log], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run_cli(words(logs, out, "--format", "arrow", image="after")).code == 0
    (index,) = indexes(out / "images")
    rows = pa.ipc.open_file(out / "images" / index["data"]).read_all().to_pylist()
    assert sorted(json.loads(row["after"])["ck"] for row in rows) == ["a", "a", "b", "b"]
    assert {row["before"] for row in rows} == {None}


def test_envelopes_with_both_sides(logs: dict[str, Log], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run_cli(words(logs, out, "--format", "debezium")).code == 0
    made = lines_of(out / "images")
    told = [(each["after"]["ck"], each["before"] and each["before"]["ck"], each["op"]) for each in made]
    # Until each node's log has shown the CREATE nobody knows whether the row was there; then it is reported complete.
    assert sorted(told, key=repr) == [("a", "a", "r"), ("a", None, "r"), ("b", "b", "r"), ("b", None, "r")]
    assert {each["source"]["partial"] for each in made if each["before"]} == {False}


def test_files_of_images_are_shipped_as_they_are(logs: dict[str, Log], tmp_path: Path) -> None:
    out, two = tmp_path / "out", tmp_path / "two"
    assert run_cli(words(logs, out)).code == 0
    assert run_cli(["ship", out, "--once", "--to", f"files:{two}"]).code == 0
    assert lines_of(two / "images") == lines_of(out / "images")


def test_another_state_into_the_same_folder(logs: dict[str, Log], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run_cli(words(logs, out)).code == 0
    refused = run_cli(words(logs, out, consumer="d"))
    assert (refused.code, "data files of another log or consumer" in refused.err) == (6, True), refused.err


def test_a_consumer_whose_images_went_to_standard_output(logs: dict[str, Log], tmp_path: Path) -> None:
    printed = ["follow", path_of(logs), "--once", "--consumer", "c", "--image", "both", "--output", "json"]
    assert len(run_cli(printed).lines) == 4
    refused = run_cli(words(logs, tmp_path / "out"))
    assert (refused.code, "given elsewhere already" in refused.err) == (6, True), refused.err


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--to", "files:x", "--format", "debezium-cassandra"], "expected --format rows or debezium or arrow, found"),
        (["--to", "delta:x", "--mode", "table"], "--mode table with --to delta"),
        (["--to", "nothing"], "expected files:DIR"),
        (["--to", "files:x", "--no-consumer"], "keeps a position"),
    ],
)
def test_wrong_use_is_told(logs: dict[str, Log], more: list[str], told: str) -> None:
    name = [] if more[-1] == "--no-consumer" else ["--consumer", "c"]
    ran = run_cli(["follow", path_of(logs), "--once", "--image", "both", *name, *more[: 4 if name else 2]])
    assert (ran.code, told in ran.err) == (2, True), ran.err
