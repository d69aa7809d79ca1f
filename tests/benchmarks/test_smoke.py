"""The benchmarks run and say what they promise to; nothing here measures anything."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tailer.jit import store
from tailer.jit.baseline import baseline_name, is_such_a_machine
from tests.benchmarks import (
    both_codes,
    checkouts,
    crowded,
    decode,
    fresh_machine,
    genuine,
    growth,
    handover,
    idle,
    images_cost,
    latency,
    many_nodes,
    maps,
    metrics,
    native,
    opening,
    outlets_files,
    outlets_postgresql,
    served,
    shapes,
    spark_images,
    spark_latency,
    spark_parquet,
    start,
    table,
    throughput,
    two_spans,
    writer,
    writer_peers,
)
from tests.benchmarks.peer_stores import SALES, STORES, Sale, left_out, sale
from tests.benchmarks.shape_changes import changes as changes_of
from tests.benchmarks.shape_logs import Shape, write
from tests.benchmarks.shape_logs import shapes as shapes_of
from tests.helpers.cli import ROOT
from tests.helpers.log_writer import insert_payload, simple_table
from tests.helpers.postgres import UnavailableError
from tests.unit.scan.compiled.twins import compiled_only
from writer_hooks import SegmentLog

pytestmark = pytest.mark.slow

FACTS = {"name", "question", "at", "commit", "python", "packages", "machine", "load_after", "repeat", "targets", "runs"}


def test_growth(capsys: pytest.CaptureFixture[str]) -> None:
    assert growth.main(["--part", "500", "--times", "2", "--idle", "0.2"]) == 0
    result = told(capsys)
    assert set(result["runs"]) == set(growth.SIZES)
    for run in result["runs"].values():
        for size in ("few", "many"):
            assert 0 < run[size]["row_ms"] < 10_000
            assert 0 < run[size]["start_mib"] < 1000
            assert run[size]["state_bytes"] > 0


def test_many_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--nodes", "3", "--rows", "3", "--seconds", "0.5", "--batches", "1", "--repeat", "1"]
    assert many_nodes.main(words) == 0
    result = told(capsys)
    assert result["met"].keys() == many_nodes.TARGETS.keys()
    cost = result["medians"]
    assert 0 < cost["noticed_p50_ms"] <= cost["noticed_max_ms"] < 10_000
    assert 0 < cost["plan_cpu_seconds"] < 10


def test_start(few: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, table = few
    assert start.main([folder, "--table", table, "--repeat", "1"]) == 0
    result = told(capsys)
    assert set(result["runs"]) == set(start.STARTS)
    assert all(0 < each["mib"] < 1000 for sizes in result["runs"].values() for (each,) in sizes.values())


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """What is kept here in place of a wheel's code, which would take a minute to make."""
    kept = store.kept()
    if kept is None or not is_such_a_machine(store._processor()):
        pytest.skip("no compiled code is kept that could be taken for a wheel's")
    return shutil.copytree(kept, tmp_path / "code" / baseline_name()).parent


def test_fresh_machine(
    few: tuple[str, str], code: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fresh_machine, "WAYS", ("wheel",))
    folder, table = few
    assert fresh_machine.main([folder, "--table", table, "--repeat", "1", "--code", str(code)]) == 0
    result = told(capsys)
    check_figures(result)
    (run,) = result["runs"]["wheel"]
    assert run["cpu"] > run["compiler_cpu"] == 0
    assert not run["numba_imported"]


def test_opening(few: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, table = few
    assert opening.main([folder, "--table", table, "--repeat", "1"]) == 0
    result = told(capsys)
    check_figures(result)
    assert len(result["runs"]) == len(opening.FORMS) * (3 + len(opening.COPIES))
    assert [each["unit"] for each in result["figures"]].count("× reader") == 2 * len(opening.FORMS)


def test_both_codes(
    few: tuple[str, str], code: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(both_codes, "install", lambda place, carried: fresh_machine.install(place, code))
    folder, table = few
    assert both_codes.main([f"{folder}:{table}", "--repeat", "1", "--code", str(code)]) == 0
    result = told(capsys)
    check_figures(result)
    names = {f"{table} {form} {which}" for form in both_codes.FORMS for which in both_codes.CODES}
    assert result["runs"].keys() == names


@pytest.fixture
def few(tmp_path: Path) -> tuple[str, str]:
    """A folder with few rows of one table in several sections, and the table."""
    shape = shapes_of(20)["frozen collections"]
    assert shape.typed is not None
    return str(write(shape, tmp_path / "cdc_raw", 400_000)), shape.typed


@pytest.fixture(autouse=True)
def cores() -> Iterator[None]:
    """Scripts pin themselves to one core; the tests behind them shall have all."""
    before = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, before)


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert result.keys() >= FACTS
    return result


def check_figures(result: dict[str, Any]) -> None:
    assert result["figures"]
    for line in result["figures"]:
        assert line["median"] > 0
        assert line["best"] > 0
        assert ("met" in line) == ("at_least" in line or "at_most" in line)
    text = table.table({result["name"]: result})
    assert text.count("\n| ") == len(result["figures"]) + 1


def test_served(capsys: pytest.CaptureFixture[str], sets_root: Path) -> None:
    words = [str(sets_root / "50-cases" / "cdc_raw"), "--repeat", "1", "--rows", "5", "--idle", "0.5"]
    assert served.main(words) == 0
    result = told(capsys)
    assert len(result["figures"]) == 3
    assert all(found["median"] > 0 for found in result["figures"][:2])
    assert result["runs"]["single"][0]["http_ms"]["p50"] > 0
    assert result["idle_percent"] < 100


def test_crowded(capsys: pytest.CaptureFixture[str], sets_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowded, "IDLE_SECONDS", 0.2)
    assert crowded.main([str(sets_root / "50-cases" / "cdc_raw"), "--connections", "0", "20"]) == 0
    result = told(capsys)
    for way in ("http", "https"):
        assert result["runs"][way]["20"]["asked_ms"]["p50"] > 0
        assert result["runs"][way]["20"]["turned_away"] is None


def test_latency(capsys: pytest.CaptureFixture[str]) -> None:
    latency.main(["--rows", "5", "--repeat", "1", "--idle", "0.1"])
    result = told(capsys)
    assert result.keys() >= {"rows", "gap_ms", "idle_seconds", "medians", "met"}
    assert result["medians"].keys() == result["met"].keys() == latency.WAYS.keys()
    for way in latency.WAYS:
        (run,) = result["runs"][way]
        assert run.keys() == {"follow_ms", "floor_ms", "p50_to_floor", "p99_to_floor", "idle_percent"}
        for who in ("follow_ms", "floor_ms"):
            assert run[who].keys() == {"p50", "p90", "p99", "max"}
            assert 0 < run[who]["p50"] <= run[who]["p99"] <= run[who]["max"]
        assert run["idle_percent"].keys() == {"follow", "floor"}


def test_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    assert metrics.main(["--rows", "5", "--bulk-rows", "2000", "--repeat", "1", "--idle", "0.2"]) == 0
    result = told(capsys)
    # What metrics cost more may be nothing, or less than the kernel's tick.
    assert [line["unit"] for line in result["figures"]].count("× without") == 2
    assert sum("met" in line for line in result["figures"]) == 3
    for run in result["runs"]:
        assert run["idle_percent"].keys() == run["busy_row_ms"].keys() == {"without", "with"}
        # Five rows may cost less than the kernel's tick of 10 ms.
        assert all(0 <= each < 10_000 for each in run["busy_row_ms"].values())


def test_throughput(few: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, name = few
    throughput.main([folder, "--table", name, "--repeat", "1"])
    result = told(capsys)
    check_figures(result)
    (run,) = result["runs"]
    assert run["pipe"]["rows"] > 0
    for way in throughput.WAYS:
        assert run[way].keys() >= {"seconds", "cpu_seconds", "peak_mib", "rows_per_second", "rows_per_cpu_second"}
    assert 0 < run["start_up"]["first_row_seconds"] <= run["start_up"]["seconds"]
    assert run["few_rows"].keys() == {"row_seconds", "imports_seconds", "row_to_imports"}


def test_outlets_files(few: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = few
    outlets_files.main([folder, "--repeat", "1"])
    result = told(capsys)
    check_figures(result)
    (run,) = result["runs"]
    assert len({run[way]["rows"] for way in outlets_files.WAYS}) == 1
    assert 0 < run["rows"]["mib_out"] < run["json"]["mib_out"]


def test_outlets_postgresql(few: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, name = few
    try:
        outlets_postgresql.main([folder, "--table", name, "--repeat", "1"])
    except UnavailableError as error:
        pytest.skip(str(error))
    result = told(capsys)
    check_figures(result)
    (run,) = result["runs"]
    ways = [f"{form}{copy}" for form in outlets_postgresql.FORMS for copy in ("", ", copy", ", copy_no_key")]
    assert list(run) == ways
    assert len({run[way]["rows"] for way in ways}) == 1
    assert run["generic"]["rows"] > 0
    assert run["generic"]["mib_of_rows"] > run["typed"]["mib_of_rows"] > 0


def test_decode(few: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, name = few
    decode.main([folder, "--table", name, "--repeat", "2", "--no-server"])
    result = told(capsys)
    check_figures(result)
    assert result["rows"] > 0
    assert result["cassandra_left_out"] == "not asked for"
    ours = {f"{prefix}{form}" for prefix in ("", "lz4 ") for form in ("typed", "arrow", "json")}
    assert result["runs"].keys() == {*ours, "whole typed", "whole arrow", "crc32"}
    assert all(len(seconds) == 2 for seconds in result["runs"].values())


def test_checkouts(few: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, name = few
    asked = ["--", folder, "--table", name, "--repeat", "1", "--no-server"]
    checkouts.main([str(ROOT), str(ROOT), "decode", "--turns", "2", "--python", sys.executable, *asked])
    result = told(capsys)
    assert result["runs"].keys() == {"before", "after"}
    assert all(len(seconds) == 2 for found in result["runs"].values() for seconds in found.values())
    assert result["cases"].keys() >= {"typed", "arrow", "json", "lz4 typed", "crc32"}
    assert result["cases"]["crc32"].keys() == {"before", "after", "median", "best"}
    assert result["only_in_one"] == []


def test_what_was_measured_is_compared_by_its_place() -> None:
    ran = {"way": [{"ms": {"p50": 2.0}, "what": "text"}, {"ms": {"p50": 4.0}}], "flag": True}
    assert list(checkouts.numbers(ran)) == [("way / ms / p50", 2.0), ("way / ms / p50", 4.0)]
    found = checkouts.compared({"a": [2.0, 4.0, 3.0], "gone": [1.0]}, {"a": [6.0, 5.0, 7.0], "new": [1.0]})
    assert found == {"a": {"before": 3.0, "after": 6.0, "median": 2.0, "best": 2.5}}


def test_native(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = simple_table("ks", "t")
    rows = tuple(insert_payload(table, number, f"c{number}", number) for number in range(20))
    folder = write(Shape((table,), rows), tmp_path / "cdc_raw", 20_000)
    native.main([str(folder), "--table", "ks.t", "--repeat", "1"])
    result = told(capsys)
    check_figures(result)
    assert result["rows"] > 20
    assert result["runs"].keys() == {f"{log} {form}" for log in ("cassandra", "native") for form in decode.FORMS}


def test_shapes(few: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, name = few
    shapes.main([folder, "--table", name, "--repeat", "1", "--mib", "0.02", "--distinct", "20"])
    result = told(capsys)
    check_figures(result)
    assert all(found["rows"] > 0 for found in result["shapes"].values())
    assert "200 tables typed" not in result["shapes"]
    assert result["shapes"]["batch sync, lz4 json"]["rows"] > 1


def test_genuine(few: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mixed = changes_of(20)["one element update in ten"]
    folders = [few[0], str(write(mixed, tmp_path / "mixed", 20_000))]
    genuine.main([*folders, "--repeat", "1"])
    result = told(capsys)
    check_figures(result)
    shapes = ["cdc_raw", "mixed", "mixed, inserts alone"]
    assert list(result["runs"]) == [f"{shape} {case}" for shape in shapes for case in ("typed", "arrow", "crc32")]
    assert result["rows"]["mixed, inserts alone typed"] == pytest.approx(0.9 * result["rows"]["mixed typed"], abs=2)
    assert [line["unit"] for line in result["figures"]].count("× inserts alone") == 2


@compiled_only
def test_genuine_rows_are_those_of_the_plain_twins(few: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert genuine.main([few[0], "--check"]) == 0
    assert capsys.readouterr().out == "cdc_raw typed: same\ncdc_raw arrow: same\n"


@compiled_only
def test_images_cost(capsys: pytest.CaptureFixture[str]) -> None:
    images_cost.main(["--repeat", "1", "--rows", "200", "--keys", "600", "--plain-rows", "20", "--changes", "2000"])
    result = told(capsys)
    assert set(result["met"]) == set(images_cost.TARGETS)
    assert {name: set(kinds) for name, kinds in result["medians"].items()} == {
        f"{form} {partitions}": set(images_cost.KINDS)
        for form in ("compiled", "plain")
        for partitions in ("small", "big")
    }
    assert len(result["growth"]) == 10
    assert all(value > 0 for value in result["bytes_a_row"].values())


def test_maps(capsys: pytest.CaptureFixture[str]) -> None:
    maps.main(["--repeat", "1", "--mib", "0.02", "--distinct", "800"])
    result = told(capsys)
    check_figures(result)
    assert len(result["runs"]) == len(maps.KEYS) * 2 * len(maps.MEASURED)
    assert all(count > 0 and count % int(case.split()[0]) == 0 for case, count in result["keys"].items())


def test_two_spans(few: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, name = few
    two_spans.main([folder, "--table", name, "--repeat", "1", "--seconds", "0.01"])
    result = told(capsys)
    check_figures(result)
    assert result["runs"].keys() == set(two_spans.CASES)
    assert len(result["memory"]) == 12


def test_writer(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    writer.main(["--seconds", "0.2", "--repeat", "1", "--rows", "2000", "--folder", str(tmp_path)])
    result = told(capsys)
    check_figures(result)
    (run,) = result["runs"]
    assert len(run) == len(writer.POLICIES) * 2 * len(writer.COUNTS) + 5
    assert {name: set(cases) for name, cases in run.items() if "log" not in cases} == {}
    assert run["batch threads 64"]["log"].keys() >= {"rows", "per_second", "p50", "p99"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("absent", [{}, {"LMDB": "the package lmdb is not installed"}])
def test_writer_peers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absent: dict[str, str]
) -> None:
    monkeypatch.setattr(writer_peers, "left_out", lambda: {**left_out(), **absent})
    writer_peers.main(["--seconds", "0.02", "--repeat", "2", "--folder", str(tmp_path)])
    out, told_of = capsys.readouterr()
    result = json.loads(out)
    check_figures(result)
    assert result["left_out"] == {**left_out(), **absent}
    assert all(f"{name} is left out: {reason}" in told_of for name, reason in result["left_out"].items())
    stores = [name for name in STORES if name not in result["left_out"]]
    for run in result["runs"]:
        assert set(run) == {f"{name} {size}" for name in stores for size in writer_peers.SIZES}
        assert all(found["rows"] > 0 for found in run.values())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("store", [name for name in STORES if name not in left_out()])
def test_a_peer_keeps_what_it_is_given(tmp_path: Path, store: str) -> None:
    with STORES[store](tmp_path) as write:
        write([sale(number) for number in range(1, 6)])
    if store.startswith("SQLite"):
        rows = sqlite3.connect(tmp_path / "rows.db").execute("SELECT number, price FROM sales").fetchall()
        assert rows == [(number, 1.5) for number in range(1, 6)]
    elif store == "JSON lines":
        rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
        assert [row["number"] for row in rows] == [1, 2, 3, 4, 5]
    elif store == "writer_hooks":
        with SegmentLog.open(tmp_path, [SALES]) as log:
            found = [row.value for each in log.replay(into=Sale) for row in each.rows()]
        assert found == [sale(number) for number in range(6)]
    else:
        import lmdb

        with lmdb.open(str(tmp_path)) as environment, environment.begin() as transaction:
            keys = [int.from_bytes(key, "big") for key, _ in transaction.cursor()]
        assert keys == [1, 2, 3, 4, 5]


@pytest.mark.spark
def test_idle(few: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    idle.main([few[0], "--seconds", "1", "--settle", "0", "--case", "waiting"])
    result = told(capsys)
    assert result["medians"]["waiting"].keys() >= {"all", "command", "jvm", "python", "source"}
    assert result["met"].keys() == {"waiting_percent"}


@pytest.mark.spark
def test_spark_latency(capsys: pytest.CaptureFixture[str]) -> None:
    spark_latency.main(["--quick"])
    result = told(capsys)
    check_figures(result)
    assert (
        result["delays_ms"].keys() == result["phases_ms"].keys() == result["runs"].keys() == spark_latency.CASES.keys()
    )
    for delays in result["delays_ms"].values():
        assert 0 < delays["steady"]["p50"] <= delays["all"]["max"]


@pytest.mark.spark
def test_spark_backlog(few: tuple[str, str]) -> None:
    """In a process of its own: a session belongs to its process, and the tests have one."""
    folder, name = few
    command = [sys.executable, "-m", "tests.benchmarks.spark_backlog", folder, "--table", name]
    ran = subprocess.run(
        [*command, "--copies", "2", "--repeat", "1"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    result = json.loads(ran.stdout)
    assert result.keys() >= FACTS
    check_figures(result)
    assert result["rows"] > 0
    assert result["runs"].keys() == {"typed", "empty typed", "generic", "empty generic"}


@pytest.mark.spark
def test_spark_parquet(few: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, name = few
    spark_parquet.main([folder, "--table", name, "--copies", "2", "--repeat", "1"])
    result = told(capsys)
    assert result.keys() >= FACTS
    check_figures(result)
    assert result["rows"] > 0
    cases = {"typed", "typed, Parquet", "generic", "generic, Parquet", spark_parquet.LIVE}
    assert result["runs"].keys() == result["parts"].keys() == cases
    for name, parts in result["parts"].items():
        read = [parts[part] for part in ("planner", "loading", "workers")]
        assert parts["jvm"] > 0
        assert (min(read) > 0) != name.endswith("Parquet"), "only what reads a log has processes of Python"


@pytest.mark.spark
@pytest.mark.soak
def test_spark_images(few: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, name = few
    spark_images.main([folder, "--table", name, "--repeat", "1"])
    result = told(capsys)
    assert result.keys() >= FACTS
    check_figures(result)
    assert result["rows"].keys() == result["runs"].keys() >= {spark_images.ROWS, spark_images.IMAGES}
    assert result["rows"][spark_images.ROWS] == result["rows"][spark_images.IMAGES]
    assert result["rows"][spark_images.IMAGES] == 3 * result["rows"][spark_images.ALONE] > 0


def test_table_takes_the_place_of_the_old_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- measured -->\nold\n<!-- end of measured -->\nbehind\n")
    table.main(["--fill", "--page", str(page)])
    made = capsys.readouterr().out
    assert page.read_text() == f"before\n<!-- measured -->\n\n{made}\n<!-- end of measured -->\nbehind\n"


def test_handover(capsys: pytest.CaptureFixture[str]) -> None:
    handover.main(["--rounds", "1"])
    result = told(capsys)
    assert result["runs"].keys() == {"queue", "buffer", "subscription", "consumer object"}
    check_figures(result)
