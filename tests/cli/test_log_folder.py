"""A folder in which no log is kept: refused by every command and door with the one that was meant, and left alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tailer
from tailer.errors import UsageError
from tailer.options.to_spark import parse_options
from tailer.spark.batch import CdcTailReader
from tailer.spark.errors import CdcTailError
from tailer.spark.planner import Planner
from tailer.spark.source import generic_schema
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import LogFolder, SegmentWriter, completed, live, one_row_segment, simple_table
from tests.helpers.logs.native import NativeWriter
from tests.native.logs import ORDERS, put

FIRST = 1_700_000_000_001
TABLE = simple_table("ks", "t")
NO_JAVA = {"JAVA_HOME": "/nowhere"}

COMMANDS: dict[str, Callable[[Path], list[str | Path]]] = {
    "follow": lambda folder: ["follow", folder, "--once", "--output", "json"],
    "follow as a consumer": lambda folder: ["follow", folder, "--once", "--output", "json", "--consumer", "billing"],
    "stream": lambda folder: ["stream", folder, "--once"],
    "inspect": lambda folder: ["inspect", folder],
    "schema": lambda folder: ["schema", folder],
    "schema retract": lambda folder: ["schema", "retract", "1", folder],
    "verify": lambda folder: ["verify", folder],
    "status": lambda folder: ["status", folder],
    "consumers": lambda folder: ["consumers", folder],
    "consumers drop": lambda folder: ["consumers", folder, "drop", "billing"],
    "consumers seek": lambda folder: ["consumers", folder, "seek", "billing", "earliest"],
    "clean": lambda folder: ["clean", folder],
    "clean without consumers": lambda folder: ["clean", folder, "--no-consumers"],
}


def segment(number: int) -> SegmentWriter:
    return one_row_segment(TABLE, FIRST, number)


def own_folder(cdc_raw: LogFolder, name: str = "commitlog") -> Path:
    """A server's own folder: second names of the readers' segments, and one that has none there any more."""
    folder = LogFolder(cdc_raw.path.with_name(name))
    for log in cdc_raw.path.glob("*.log"):
        (folder.path / log.name).hardlink_to(log)
    folder.put(segment(9))
    return folder.path


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """A server's folders, as packages lay them out."""
    made = LogFolder(tmp_path / "cassandra" / "cdc_raw")
    made.put(segment(0), completed(segment(0)))
    made.put(segment(1), live(segment(1)))
    own_folder(made)
    (made.path.with_name("data") / "ks").mkdir(parents=True)
    return made.path.parent


@pytest.fixture
def service(tmp_path: Path) -> Path:
    """The folder of a service with its own log."""
    log = NativeWriter(7)
    log.section([ORDERS.definition, put(1, "one")])
    made = LogFolder(tmp_path / "shop" / "cdc_raw")
    made.put(log.frame, log.sidecar(done=False))
    own = made.path.with_name("commitlog")
    own.mkdir()
    (own / log.frame.name).hardlink_to(made.path / log.frame.name)
    return made.path.parent


def everything(root: Path) -> dict[str, bytes | None]:
    return {str(each): each.read_bytes() if each.is_file() else None for each in root.rglob("*")}


WRONG = ("cassandra/commitlog", "cassandra/data", "cassandra", ".", "cassandra/cdc_raw.cdc_tail", "cassandra/empty")


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("place", WRONG)
def test_every_command_names_what_was_meant_and_makes_nothing(place: str, name: str, server: Path) -> None:
    folder = server.parent / place
    folder.mkdir(exist_ok=True)
    before = everything(server.parent)
    result = run_cli(COMMANDS[name](folder), NO_JAVA)
    assert (result.code, result.out) == (2, "")
    assert "this is no log folder" in result.err
    assert f"Probably meant: {server / 'cdc_raw'}." in result.err
    assert result.err.count("\n") == 1
    assert everything(server.parent) == before


@pytest.mark.parametrize("place", ["shop", "shop/commitlog"])
@pytest.mark.parametrize("name", ["follow as a consumer", "status", "clean without consumers"])
def test_of_a_service_the_readers_folder_is_meant(place: str, name: str, service: Path) -> None:
    before = everything(service.parent)
    result = run_cli(COMMANDS[name](service.parent / place))
    assert result.code == 2
    assert f"Probably meant: {service / 'cdc_raw'}." in result.err
    assert everything(service.parent) == before


DOORS: dict[str, Callable[[Path], object]] = {
    "open": lambda folder: tailer.open(folder),
    "run": lambda folder: tailer.run(folder, None),  # type: ignore[arg-type]  # it is not reached
    "a stream": lambda folder: Planner(parse_options({"path": str(folder)})).initial(),
    "a batch read": lambda folder: CdcTailReader(parse_options({"path": str(folder)}), generic_schema()).partitions(),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("place", WRONG[:3])
def test_python_and_spark_refuse_alike(place: str, door: str, server: Path) -> None:
    before = everything(server)
    with pytest.raises((UsageError, CdcTailError), match="this is no log folder") as told:
        DOORS[door](server.parent / place)
    assert f"Probably meant: {server / 'cdc_raw'}." in str(told.value)
    assert everything(server) == before


def test_a_servers_own_folder_of_another_name_is_told_by_its_links(server: Path) -> None:
    (server / "commitlog").rename(server / "disk2")
    result = run_cli(["follow", server / "disk2", "--once"])
    assert result.code == 2
    assert f"Probably meant: {server / 'cdc_raw'}." in result.err
    assert run_cli(["inspect", next((server / "disk2").glob("*.log"))]).code == 0, "one segment may lie anywhere"


def test_an_empty_folder_with_nothing_near_says_which_to_give(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    result = run_cli(["follow", tmp_path / "logs", "--once"])
    assert result.code == 2
    assert "cdc_raw_directory" in result.err
    assert "found neither a segment nor a sidecar" in result.err
    assert [each.name for each in tmp_path.iterdir()] == ["logs"]


def test_an_empty_cdc_raw_is_one(tmp_path: Path) -> None:
    folder = tmp_path / "cdc_raw"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder)
    for path in (folder, tmp_path / "link"):
        for name in ("follow as a consumer", "inspect", "verify", "status", "consumers", "clean"):
            assert run_cli(COMMANDS[name](path)).code == 0, name


@pytest.mark.parametrize("sidecars", [True, False])
def test_a_copy_under_another_name_goes_on(sidecars: bool, server: Path, tmp_path: Path) -> None:
    copy = tmp_path / "backup" / "monday"
    shutil.copytree(server / "cdc_raw", copy)
    if not sidecars:
        for file in copy.glob("*.idx"):
            file.unlink()
    for name in ("follow as a consumer", "inspect", "schema", "verify", "status", "consumers"):
        result = run_cli(COMMANDS[name](copy))
        assert result.code == 0, result.err
        rows = len(result.lines) if name.startswith("follow") else None
        assert rows in (None, 2 if sidecars else 0)


def test_a_copy_whose_segments_are_gone_is_still_one(server: Path, tmp_path: Path) -> None:
    copy = tmp_path / "monday"
    shutil.copytree(server / "cdc_raw", copy)
    assert run_cli(COMMANDS["follow as a consumer"](copy)).code == 0
    for file in copy.iterdir():
        file.unlink()
    assert run_cli(COMMANDS["status"](copy)).code == 0
    private: list[Any] = ["status", copy, "--state", tmp_path / "private"]
    shutil.move(tmp_path / "monday.cdc_tail", tmp_path / "private")
    assert run_cli(private).code == 0
    assert run_cli(COMMANDS["status"](copy)).code == 2, "now nothing tells that a log was ever there"


@pytest.mark.parametrize("place", [".", "state", "a/b"])
def test_a_state_in_the_log_folder_is_refused(tmp_path: Path, place: str) -> None:
    """A server counts what lies there against its limit."""
    folder = LogFolder(tmp_path / "cdc_raw")
    folder.put(segment(0), completed(segment(0)))
    before = sorted(folder.path.rglob("*"))
    (tmp_path / "link").symlink_to(folder.path)
    for state in (folder.path / place, tmp_path / "link" / place):
        for words in (["follow", folder.path, "--once"], ["schema", folder.path], ["consumers", folder.path]):
            ran = run_cli([*words, "--state", state])
            assert (ran.code, ran.out) == (2, "")
            assert f"a state folder in the log folder ({state})" in ran.err
    assert sorted(folder.path.rglob("*")) == before


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "inspect"])
def test_a_log_that_may_be_there_later_is_worth_a_restart(tmp_path: Path, command: str) -> None:
    """Before the server's first start, or before the file system is mounted: units start again what ends with 8."""
    cdc_raw = LogFolder(tmp_path / "cassandra" / "cdc_raw")
    cdc_raw.path.rmdir()
    for _ in range(2):
        ran = run_cli(COMMANDS[command](cdc_raw.path), NO_JAVA)
        assert ran.code == 8, ran.err
        assert ran.err.startswith(f"cdc-tail: no such folder ({cdc_raw.path}). Is its file system mounted")
    assert list(tmp_path.rglob("*")) == [cdc_raw.path.parent]


def test_a_log_of_any_name_that_was_read_before(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "log")
    writer = segment(0)
    log.put(writer, completed(writer))
    words = ["follow", log.path, "--once", "--output", "json", "--consumer", "c"]
    assert run_cli(words).code == 0
    log.path.rename(tmp_path / "elsewhere")
    assert run_cli(words).code == 8
    (tmp_path / "elsewhere").rename(log.path)
    assert run_cli(words).code == 0


@pytest.mark.parametrize("below", ["cassandra", "lib/cassandra"])
@pytest.mark.parametrize("command", ["follow as a consumer", "status", "clean", "consumers"])
def test_below_a_folder_that_is_empty_a_file_system_may_be_mounted_later(
    tmp_path: Path, command: str, below: str
) -> None:
    """As a mount point is: of what is mounted there later nothing is there yet."""
    (mount_point := tmp_path / "data").mkdir()
    folder = mount_point / below / "cdc_raw"
    ran = run_cli(COMMANDS[command](folder), NO_JAVA)
    assert ran.code == 8, ran.err
    assert ran.err.startswith(f"cdc-tail: no such folder ({folder}). Is its file system mounted")
    assert list(tmp_path.rglob("*")) == [mount_point]


def test_a_folder_that_nothing_speaks_for_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "cassandra").mkdir()
    for folder in (tmp_path / "cdc_rwa", tmp_path / "nothing" / "cdc_raw", tmp_path / "cassandra" / "x" / "cdc_rwa"):
        assert run_cli(["follow", folder, "--once"]).code == 2
