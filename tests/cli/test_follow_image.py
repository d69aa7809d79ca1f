"""`cdc-tail follow --image` as users have it: each write once over several nodes, in each form; ends of every kind."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tailer.state.log_folder import state_folder
from tests.helpers.cli import ROOT, program, run_cli
from tests.unit.spark.test_nodes_away import Log


@pytest.fixture
def logs(tmp_path: Path) -> dict[str, Log]:
    made = {name: Log(tmp_path / name / "cdc_raw") for name in ("n1", "n2", "n3")}
    for log in made.values():
        log.write("a", "b")
    return made


def path_of(logs: dict[str, Log]) -> str:
    return ",".join(f"{name}={log.path}" for name, log in logs.items())


def images(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def keys(lines: list[str]) -> list[str]:
    """Of the rows that were written. A `read` image only reports that a row is complete, once the logs of all nodes
    have shown the CREATE."""
    told = images(lines)
    assert all(image["complete"] for image in told if image["op"] == "read")
    return sorted(image["after"]["ck"] for image in told if image["op"] != "read")


def test_a_write_of_three_nodes_once(logs: dict[str, Log]) -> None:
    words = ["follow", path_of(logs), "--once", "--output", "json", "--consumer", "c", "--image", "both"]
    first = run_cli(words)
    assert (first.code, first.err) == (0, "")
    assert keys(first.lines) == ["a", "b"]
    assert run_cli(words).lines == []
    for name in ("n3", "n1"):
        logs[name].write("c")
    (last,) = images(run_cli(words).lines)
    assert (last["op"], last["before"], last["complete"]) == ("insert", None, True)
    assert (state_folder(logs["n1"].path) / "images" / "c" / "data.mdb").exists()


def test_one_arrow_stream(logs: dict[str, Log]) -> None:
    words = ["follow", path_of(logs), "--once", "--output", "arrow", "--image", "after"]
    done = subprocess.run(program(words), cwd=ROOT, capture_output=True, check=True)
    rows = pa.ipc.open_stream(done.stdout).read_all().to_pylist()
    assert sorted(json.loads(row["after"])["v"] for row in rows if row["op"] != "read") == [0, 1]
    assert {row["before"] for row in rows} == {None}


def test_typed_ones_have_the_columns_of_their_table(logs: dict[str, Log]) -> None:
    words = ["follow", path_of(logs), "--once", "--image", "both", "--typed", "ks.t"]
    done = subprocess.run(program([*words, "--output", "arrow"]), cwd=ROOT, capture_output=True, check=True)
    rows = pa.ipc.open_stream(done.stdout).read_all()
    assert [field.name for field in rows.schema.field("after").type] == ["pk", "ck", "v", "_known"]
    ops = [next(row[name] for name in ("op", "_op") if name in row) for row in rows.to_pylist()]
    written = [row for row, op in zip(rows["after"].to_pylist(), ops, strict=True) if op != "read"]
    told = sorted(written, key=lambda row: row["pk"])
    assert [(row["pk"], row["ck"], row["v"]) for row in told] == [(0, "a", 0), (1, "b", 1)]
    lines = run_cli([*words, "--output", "json"]).lines
    after = '"before":null,"after":{"pk":0,"ck":"a","v":0,"_known":["pk","ck","v"]},"changed":'
    assert len([line for line in lines if after in line]) == 1
    assert 'pk=1 ck="b"  v=' in run_cli([*words, "--output", "pretty"]).out


def test_typed_ones_that_an_earlier_run_left_wait_for_their_form(logs: dict[str, Log]) -> None:
    # Of one node: what another one merges behind it would have them taken out.
    log = str(logs["n1"].path)
    words = ["follow", log, "--output", "json", "--consumer", "c", "--image", "after", "--typed", "ks.t"]
    with subprocess.Popen(program(words), cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        first = [running.stdout.readline().strip() for _ in range(2)]
        # What it printed it has not said to be taken yet.
        running.kill()
    again = run_cli([*words, "--once"])
    assert (again.code, sorted(again.lines)) == (0, sorted(first))
    assert run_cli([*words, "--once"]).lines == []


def test_for_people(logs: dict[str, Log]) -> None:
    shown = run_cli(["follow", f"n1={logs['n1'].path}", "--once", "--output", "pretty", "--image", "both"])
    assert shown.code == 0
    assert 'insert            ks.t  pk=1 ck="b"  v=∅ → 1' in shown.out


def test_sigterm_ends_it_with_all_in_its_place(logs: dict[str, Log]) -> None:
    words = ["follow", path_of(logs), "--output", "json", "--consumer", "c", "--image", "after"]
    with subprocess.Popen(program(words), cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        lines = [running.stdout.readline() for _ in range(2)]
        logs["n2"].write("c")
        while keys(lines)[-1] != "c":
            lines.append(running.stdout.readline())
        time.sleep(0.3)
        running.send_signal(signal.SIGTERM)
        assert running.wait(20) == 0
    assert keys(lines) == ["a", "b", "c"]
    assert run_cli([*words, "--once"]).lines == []


def test_killed_again_and_again(logs: dict[str, Log], tmp_path: Path) -> None:
    words = ["follow", path_of(logs), "--output", "json", "--consumer", "c", "--image", "both"]
    chance, written = random.Random(7), ["a", "b"]
    out = tmp_path / "out.jsonl"
    for number in range(5):
        with out.open("ab") as stream, subprocess.Popen(program(words), cwd=ROOT, stdout=stream) as running:
            for name in logs:
                logs[name].write(f"k{number}", f"l{number}")
            written += [f"k{number}", f"l{number}"]
            time.sleep(0.8 + chance.random())
            running.kill()
    lines = [line for line in out.read_text().splitlines() if line.endswith("}")]
    lines += run_cli([*words, "--once"]).lines
    found = {(image["partition_key"]["pk"], image["seq"]): image for image in images(lines)}
    assert all(image == found[image["partition_key"]["pk"], image["seq"]] for image in images(lines))
    assert sorted(image["after"]["ck"] for image in found.values() if image["op"] != "read") == sorted(written)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--image", "after"], "images are kept under the name of a consumer"),
        (["--image", "after", "--consumer", "c", "--typed", "ks.t", "--to", "sqlite:x"], "--typed and images into"),
        (["--tokens", "1..2"], "--tokens is for images"),
        (["--image", "after", "--consumer", "c", "--tokens", "2..1"], "a range of tokens"),
    ],
)
def test_wrong_use_is_told(logs: dict[str, Log], more: list[str], told: str) -> None:
    ran = run_cli(["follow", path_of(logs), "--output", "json", *more])
    assert (ran.code, told in ran.err) == (2, True), ran.err


def test_a_mask_of_what_ranges_go_by_is_refused(logs: dict[str, Log], tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("0123456789abcdef")
    key.chmod(0o600)
    words = ["follow", str(logs["n1"].path), "--once", "--image", "after", "--output", "json", "--mask-key", str(key)]
    refused = run_cli([*words, "--mask", "ks.t.ck=hash"])
    assert refused.code == 2
    assert "hides which rows a deletion of a range takes" in refused.err
    shown = images(run_cli([*words, "--mask", "ks.t.v=null"]).lines)
    assert [image["after"]["v"] for image in shown] == [None, None]


def test_images_that_nobody_takes_stay(logs: dict[str, Log]) -> None:
    """Whoever reads the output goes away: an ordinary end, and nothing is lost."""
    words = ["follow", path_of(logs), "--once", "--output", "json", "--consumer", "c", "--image", "after"]
    with subprocess.Popen(program(words), cwd=ROOT, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.close()
        running.wait(60)
    assert keys(run_cli(words).lines) == ["a", "b"]


def test_what_is_known_of_a_row_beside_a_run(logs: dict[str, Log]) -> None:
    words = ["follow", path_of(logs), "--output", "json", "--consumer", "c", "--image", "after"]
    with subprocess.Popen(program(words), cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for _ in range(2):
            running.stdout.readline()
        asked = ["images", path_of(logs), "--consumer", "c"]
        whole = json.loads(run_cli([*asked, "--output", "json"]).out)
        (table,) = whole["tables"]
        assert (table["table"], table["partitions"], table["rows"]) == ("ks.t", 2, 2)
        assert sorted(whole["places"]) == ["n1", "n2", "n3"]
        key = json.dumps({"ck": "b", "pk": 1})
        row = json.loads(run_cli([*asked, "--table", "ks.t", "--key", key, "--output", "json"]).out)
        assert (row["lives"], row["told"]) == (True, True)
        assert json.loads(row["shown"]) == {"pk": 1, "ck": "b", "v": 1}
        shown = run_cli([*asked, "--table", "ks.t", "--key", key, "--output", "pretty"])
        assert "cell" in shown.out
        assert "ks.t" in run_cli([*asked, "--output", "pretty"]).out
        running.send_signal(signal.SIGTERM)
        assert running.wait(20) == 0
    for wrong, told in (
        (["--table", "ks.u", "--key", key], "expected ks.t"),
        (["--table", "ks.t", "--key", "{}"], "values for pk, ck"),
        (["--table", "ks.t", "--key", "[1]"], "a JSON object"),
        (["--table", "ks.t"], "go together"),
    ):
        refused = run_cli([*asked, *wrong])
        assert (refused.code, told in refused.err) == (2, True), refused.err
    assert run_cli(["images", path_of(logs), "--consumer", "nobody"]).code == 2
