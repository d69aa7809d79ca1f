"""`cdc-tail options`, and `--config` of other commands, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailer.options.declared_commands import COMMANDS, options_of
from tests.conftest import FreshFolder
from tests.helpers.cli import run_cli


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "cdc-tail.toml"
    file.write_text('[all]\nnode = "dc1"\n[follow]\nconsumer = "billing"\ntable = ["cdc.filler"]\n')
    return file


def test_every_option_of_every_command_with_its_source(config: Path) -> None:
    env = {"CDC_TAIL_CONFIG": str(config), "CDC_TAIL_ON_ERROR": "quarantine", "CDC_TAIL_CONF": "my.secret=1 b=2"}
    env["CDC_TAIL_URL"] = "jdbc:postgresql://h/d?password=hidden1"
    result = run_cli(["options"], env)
    rows = [json.loads(line) for line in result.lines]
    assert [(row["command"], row["option"]) for row in rows] == [
        (command, option.word) for command in COMMANDS for option in options_of(command)
    ]
    assert "hidden1" not in result.out
    found = {(row["command"], row["option"]): (row["value"], row["from"]) for row in rows}
    assert found["follow", "consumer"] == ("billing", f"{config}:follow")
    assert found["stream", "consumer"] == ("spark", "default")
    assert found["follow", "table"] == (["cdc.filler"], f"{config}:follow")
    assert found["status", "node"] == ("dc1", f"{config}:all")
    assert found["consumers", "node"] == (None, "default")
    assert found["follow", "on-error"] == ("quarantine", "CDC_TAIL_ON_ERROR")
    assert found["follow", "commit-every"] == ("batch", "default")
    assert found["stream", "conf"] == ({"my.secret": "***", "b": "2"}, "CDC_TAIL_CONF")


def test_for_people(config: Path) -> None:
    result = run_cli(["options", "follow", "--config", config, "--output", "pretty"], {"CDC_TAIL_SETTLE": "7"})
    assert result.code == 0
    assert result.lines[0] == "follow"
    assert [line.split() for line in result.lines[1:] if not line.endswith("default")] == [
        ["--table", "cdc.filler", f"{config}:follow"],
        ["--node", "dc1", f"{config}:all"],
        ["--consumer", "billing", f"{config}:follow"],
        ["--settle", "7.0", "CDC_TAIL_SETTLE"],
        ["--config", str(config), "command", "line"],
    ]


def test_a_command_that_there_is_not() -> None:
    result = run_cli(["options", "folow"])
    assert result.code == 2
    assert "unknown command 'folow'. There are: follow, " in result.err


def test_a_file_fills_what_the_command_line_leaves_out(config: Path, fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-lz4")
    command = ["follow", folder, "--once", "--output", "json", "--config", config]
    rows = [json.loads(line) for line in run_cli(command).lines]
    assert {(row["node"], row["table"]) for row in rows} == {("dc1", "filler")}
    assert run_cli(command).lines == []
    again = run_cli([*command, "--consumer", "other", "--node", "dc2"])
    assert {json.loads(line)["node"] for line in again.lines} == {"dc2"}
    listed = [json.loads(line)["consumer"] for line in run_cli(["consumers", folder, "--output", "json"]).lines]
    assert sorted(listed) == ["billing", "other"]


def test_a_wrong_file_is_wrong_usage_of_any_command(tmp_path: Path, fresh_folder: FreshFolder) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[stream]\nto = 'nowhere'\n")
    result = run_cli(["inspect", fresh_folder("50-torn"), "--config", file])
    assert (result.code, result.out) == (2, "")
    assert (
        f"to in [stream] ({file}): expected console or parquet or delta or iceberg or jdbc, found 'nowhere'"
        in result.err
    )


def test_retracting_takes_the_options_of_schema(tmp_path: Path, fresh_folder: FreshFolder) -> None:
    file, state = tmp_path / "c.toml", tmp_path / "state"
    file.write_text(f'[schema]\nstate = "{state}"\nat = "earliest"\n')
    result = run_cli(["schema", "retract", "1", fresh_folder("50-torn"), "--config", file])
    assert result.code == 2
    assert str(state) in result.err
