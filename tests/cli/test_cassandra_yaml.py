"""`--cassandra-yaml`, and commands without a folder, as a user on a database node runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tailer
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import LogFolder, one_row_log, simple_table

ONE = 1_700_000_000_001
TABLE = simple_table("ks", "t")


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    return one_row_log(tmp_path / "cdc_raw", TABLE, ONE, 2)


@pytest.fixture
def yaml(tmp_path: Path, folder: LogFolder) -> Path:
    file = tmp_path / "cassandra.yaml"
    file.write_text(
        f"cdc_enabled: true\ncdc_raw_directory: {folder.path}\ncdc_total_space: 64MiB\n"
        "commitlog_sync: periodic\ncommitlog_sync_period: 10000ms\n"
    )
    return file


def test_status_goes_by_the_servers_settings(yaml: Path, folder: LogFolder) -> None:
    found = json.loads(run_cli(["status", "--cassandra-yaml", yaml, "--output", "json"]).out)
    assert found["folder"] == str(folder.path)
    assert (found["cap"]["bytes"], found["cap"]["given"]) == (64 * 1024 * 1024, True)
    assert found["server"] == {"file": str(yaml), "enabled": True, "sync": "periodic", "delay": 10.0}
    shown = run_cli(["status", folder.path, "--cassandra-yaml", yaml, "--cap", "1g", "--output", "pretty"])
    assert "of 1.0G (given)" in shown.out
    assert "commitlog_sync is periodic, a change is durable within 10 s" in shown.out
    plain = json.loads(run_cli(["status", folder.path, "--output", "json"]).out)
    assert (plain["server"], plain["cap"]["given"]) == (None, False)


def test_follow_tells_the_delay_and_that_nothing_is_captured(yaml: Path, folder: LogFolder) -> None:
    result = run_cli(["follow", "--cassandra-yaml", yaml, "--once"])
    assert result.code in (0, 9)
    assert f"{yaml}: commitlog_sync is periodic: a change is durable within 10 s" in result.err
    assert "captures nothing" not in result.err
    yaml.write_text(yaml.read_text().replace("cdc_enabled: true", "cdc_enabled: false"))
    again = run_cli(["follow", "--cassandra-yaml", yaml, "--once"])
    assert again.out == result.out
    assert f"warning: {yaml} says cdc_enabled: false: that server captures nothing" in again.err
    shown = run_cli(["status", "--cassandra-yaml", yaml, "--output", "pretty"])
    assert "cdc_enabled: false: the server captures nothing" in shown.out


def test_a_folder_that_is_left_out_is_the_packages(
    yaml: Path, folder: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = {"CDC_TAIL_CASSANDRA_YAML": str(yaml)}
    for command in ("follow --once", "status", "inspect", "verify", "schema", "clean --no-consumers"):
        assert run_cli(command.split(), here).code in (0, 9), command
    monkeypatch.setattr("tailer.options.sources.package_yaml", lambda: yaml)
    assert json.loads(run_cli(["status", "--output", "json"]).out)["folder"] == str(folder.path)


def test_options_shows_where_a_value_comes_from(yaml: Path) -> None:
    rows = map(json.loads, run_cli(["options", "status", "--cassandra-yaml", yaml]).lines)
    found = {row["option"]: (row["value"], row["from"]) for row in rows}
    assert found["cap"] == (64 * 1024 * 1024, f"{yaml}:cdc_total_space")
    assert found["cassandra-yaml"] == (str(yaml), "command line")


def test_python_opens_the_folder_that_the_file_names(yaml: Path, folder: LogFolder) -> None:
    with tailer.open(cassandra_yaml=yaml, stopped=True) as log:
        assert log.folder == folder.path
        assert sum(batch.num_rows for batch in log.read()) == 2
        assert f"{yaml}: commitlog_sync is periodic: a change is durable within 10 s" in log.notices
