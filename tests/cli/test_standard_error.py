"""Sentences on standard error: as they are, with time and level, for a journal, as JSON; from the first one on."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.cli import ROOT, run_cli
from tests.helpers.log_writer import LogFolder, completed, live, one_row_segment, simple_table

PROGRAM = [sys.executable, "-c", "from tailer.cli.app import run; run()"]
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
MISSING = "no such folder (/no/such/folder)"
ONE = 1_700_000_000_001
TABLE = simple_table("ks", "t")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A log whose second segment holds back the third: a run that does not wait ends with exit 9."""
    made = LogFolder(tmp_path / "cdc_raw")
    for number in range(3):
        writer = one_row_segment(TABLE, ONE, number)
        made.put(writer, live(writer) if number == 1 else completed(writer))
    return made.path


def missing(*options: str, env: dict[str, str] | None = None) -> str:
    result = run_cli(["inspect", "/no/such/folder", *options], env)
    assert result.code == 2
    return result.err


def test_without_the_option_a_sentence_is_as_it_is() -> None:
    assert missing().startswith(f"cdc-tail: {MISSING}")


def test_text_has_time_and_level() -> None:
    assert re.match(rf"{TIME} error cdc-tail: {re.escape(MISSING)}", missing("--log-format", "text"))


def test_json_has_an_object_a_line() -> None:
    told = missing("--log-format", "json")
    line = json.loads(told)
    assert list(line) == ["time", "level", "message", "exit"]
    assert re.fullmatch(TIME, line["time"])
    assert (line["level"], line["exit"]) == ("error", 2)
    assert line["message"].startswith(MISSING)
    assert told.endswith("\n")


def test_from_the_environment_and_a_configuration_file(tmp_path: Path) -> None:
    assert json.loads(missing(env={"CDC_TAIL_LOG_FORMAT": "json"}))["level"] == "error"
    file = tmp_path / "c.toml"
    file.write_text('[all]\nlog-format = "json"\n')
    assert json.loads(missing("--config", str(file)))["level"] == "error"
    assert missing("--config", str(file), "--log-format", "text").split()[1] == "error"


@pytest.mark.parametrize(
    ("arguments", "env"),
    [
        (["follow", ".", "--nonsense", "--log-format", "json"], {}),
        (["follow", "--log-format=json"], {}),
        (["nonsense"], {"CDC_TAIL_LOG_FORMAT": "JSON"}),
        (["follow", ".", "--log-format", "json", "--commit-every", "never"], {}),
    ],
)
def test_what_is_wrong_with_the_command_line_itself_is_told_in_that_form(
    arguments: list[str], env: dict[str, str]
) -> None:
    result = run_cli(arguments, env)
    assert (result.code, json.loads(result.err)["exit"]) == (2, 2)


def test_one_run_leaves_nothing_to_the_next() -> None:
    assert json.loads(run_cli(["nonsense", "--log-format", "json"]).err)
    assert run_cli(["nonsense"]).err.startswith("cdc-tail: ")


def test_an_unknown_form_is_told_as_text() -> None:
    result = run_cli(["inspect", ".", "--log-format", "xml"])
    assert result.code == 2
    assert "text or json" in result.err
    assert result.err.startswith("cdc-tail: ")


def test_levels_of_a_run(folder: Path) -> None:
    options = ["--once", "--output", "json", "--consumer", "c", "--log-format", "json"]
    first = run_cli(["follow", folder, *options])
    told = [json.loads(line) for line in first.err.splitlines()]
    assert (first.code, told[-1]["level"], told[-1]["exit"]) == (9, "error", 9)
    assert {line["level"] for line in told[:-1]} <= {"notice"}
    again = run_cli(["follow", folder, *options, "--from", "earliest", "--from", "latest"])
    notices = [json.loads(line) for line in again.err.splitlines()]
    assert ("notice", True) in [(line["level"], "goes on at" in line["message"]) for line in notices]


@pytest.mark.parametrize(
    ("options", "begin"),
    [
        ([], "cdc-tail: warning: Changes are lost"),
        (["--log-format", "text"], rf"{TIME} warning cdc-tail: Changes are lost"),
        (["--log-format", "json"], rf'\{{"time":"{TIME}","level":"warning","message":"Changes are lost'),
    ],
)
def test_what_is_lost_is_a_warning(options: list[str], begin: str, folder: Path) -> None:
    follow = ["follow", folder, "--once", "--stopped", "--output", "json", "--consumer", "c"]
    assert run_cli([*follow, "--until", f"{ONE}:60"]).code == 0
    for file in folder.glob(f"*{ONE}*"):
        file.unlink()
    result = run_cli([*follow, "--accept-loss", *options])
    assert result.code == 0
    (told,) = [line for line in result.err.splitlines() if "Accepted" in line]
    assert re.match(begin, told)


def test_a_move_is_information(folder: Path) -> None:
    run_cli(["follow", folder, "--once", "--stopped", "--output", "json", "--consumer", "c"])
    result = run_cli(["consumers", folder, "drop", "c", "--log-format", "json"])
    assert json.loads(result.err)["level"] == "info"


def test_a_traceback_stays_in_its_line() -> None:
    env = {"CDC_TAIL_DEBUG": "1", "CDC_TAIL_LOG_FORMAT": "json"}
    line = json.loads(run_cli(["inspect", "/no/such/folder"], env).err)
    assert line["traceback"].startswith("Traceback")
    assert run_cli(["inspect", "/no/such/folder"], {"CDC_TAIL_DEBUG": "1"}).err.startswith("Traceback")


def on_terminal(*arguments: str) -> str:
    parent, child = pty.openpty()
    with subprocess.Popen([*PROGRAM, *arguments], cwd=ROOT, stderr=child, stdout=subprocess.DEVNULL) as process:
        os.close(child)
        told = b""
        try:
            while part := os.read(parent, 1000):
                told += part
        except OSError:  # a terminal's other end was closed
            pass
    os.close(parent)
    assert process.returncode == 2
    return told.decode().replace("\r\n", "\n")


def test_on_a_terminal_text_has_no_time() -> None:
    assert on_terminal("inspect", "/no/such/folder", "--log-format", "text").startswith(f"cdc-tail: {MISSING}")
    assert json.loads(on_terminal("inspect", "/no/such/folder", "--log-format", "json"))["level"] == "error"


@pytest.mark.parametrize(
    ("options", "own", "expected"),
    [
        (["--log-format", "text"], True, r"<3>cdc-tail: no such folder"),
        (["--log-format", "text"], False, rf"{TIME} error cdc-tail: no such folder"),
        (["--log-format", "json"], True, r"\{"),
        ([], True, r"cdc-tail: no such folder"),
    ],
)
def test_the_journal_has_a_time_and_takes_the_level(
    options: list[str], own: bool, expected: str, tmp_path: Path
) -> None:
    """systemd names the stream that it made in JOURNAL_STREAM; children inherit the name, with another stream."""
    with (tmp_path / "journal").open("w+") as stream:
        state = os.fstat(stream.fileno())
        name = f"{state.st_dev}:{state.st_ino if own else state.st_ino + 1}"
        command = [*PROGRAM, "inspect", "/no/such/folder", *options]
        subprocess.run(command, cwd=ROOT, stderr=stream, env={**os.environ, "JOURNAL_STREAM": name}, check=False)
        stream.seek(0)
        assert re.match(expected, stream.read())
