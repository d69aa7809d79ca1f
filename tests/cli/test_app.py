"""The command's outermost layer: exit codes, one sentence on standard error, help, and what help costs."""

from __future__ import annotations

import errno
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from tailer import errors
from tailer.cli import app as application
from tailer.cli.app import COMMANDS
from tailer.cli.rows import output_form
from tailer.errors import CdcError, CorruptError, UsageError
from tailer.options.kinds import COMMIT, CommitEvery
from tailer.options.tail import TailOptions
from tailer.position import Position
from tests.helpers.cli import ROOT, run_cli, run_process

PROGRAM = [sys.executable, "-c", "from tailer.cli.app import run; run()"]
KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, CdcError)]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`command(body)`: a command `probe` of the program that does what `body` does."""

    def make(body: Any) -> None:
        probe = typer.Typer(add_completion=False)
        probe.command()(body)
        monkeypatch.setattr(application, "COMMANDS", ("probe",))
        monkeypatch.setitem(sys.modules, "tailer.cli.probe", SimpleNamespace(app=probe))  # type: ignore[arg-type]

    return make


@pytest.mark.parametrize("kind", KINDS)
def test_every_documented_error_has_its_exit_code_and_is_one_line(command: Any, kind: type[CdcError]) -> None:
    def body() -> None:
        raise kind("something", at=Position(7, 8), file="a.log", expected=1, found="x\ny", remedy="Do this.")

    command(body)
    result = run_cli(["probe"])
    assert result.code == kind.code
    assert result.err == "cdc-tail: something at 7:8 (a.log): expected 1, found x\\u000ay. Do this.\n"
    assert result.out == ""


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (OSError(errno.EIO, "Input/output error", "/some/file"), 8, "Input/output error (/some/file)"),
        (OSError(errno.ENOSPC, "No space left on device"), 8, "No space left on device"),
        (MemoryError(), 8, "not enough memory"),
        (RuntimeError("can't start new thread"), 8, "not enough memory, or too many processes, for another thread"),
        (ImportError("x.so: failed to map segment from shared object"), 8, "not enough memory to load the program"),
        (KeyboardInterrupt(), 0, ""),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 0, ""),
        (ZeroDivisionError("division by zero"), 1, "this is a bug in cdc-tail"),
        (RecursionError("too deep"), 1, "RecursionError: too deep"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_other_failures_have_theirs(command: Any, error: BaseException, code: int, words: str) -> None:
    def body() -> None:
        raise error

    command(body)
    result = run_cli(["probe"])
    assert result.code == code
    assert words in result.err
    assert "Traceback" not in result.err
    assert result.err.count("\n") == (1 if words else 0)


def test_a_bug_says_how_to_report_it_and_shows_the_traceback_when_asked(command: Any) -> None:
    def body() -> None:
        raise ZeroDivisionError

    command(body)
    assert "report it" in run_cli(["probe"]).err
    asked = run_cli(["probe"], env={"CDC_TAIL_DEBUG": "1"})
    assert asked.code == 1
    assert "Traceback" in asked.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nonsense"], "no such option: --nonsense"),
        (["inspect", "--nonsense", "."], "cdc-tail inspect --help"),
        (["nonsense"], "no such command 'nonsense'"),
        (["consumers"], "missing argument"),
        ([], "missing command"),
        (["inspect", ".", "--output", "xml"], "'xml'"),
        (["verify", ".", "--settle", "-1"], "--settle"),
        (["inspect", "/no/such/folder"], "no such folder (/no/such/folder)"),
        (["verify", "/no/such/folder"], "no such folder (/no/such/folder)"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_wrong_usage_is_2_and_one_sentence(arguments: list[str], words: str) -> None:
    result = run_cli(arguments)
    assert result.code == 2
    assert words in result.err
    assert result.err.startswith("cdc-tail: ")
    assert result.err.count("\n") == 1


def test_version_says_which() -> None:
    result = run_cli(["--version"])
    assert result.code == 0
    assert result.out.startswith("cdc-tail ")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    result = run_cli([name, "--help"])
    assert result.code == 0
    assert f"cdc-tail {name}" in result.out.split("Example", 1)[1]


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from tailer.cli.app import main; assert main(['--help']) == 0\n"
        "print('LOADED', *{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {"numpy", "pyarrow", "pyspark", "pandas", "cassandra", "cramjam"} & set(done.stderr.split()) == set()
    assert all(name in done.stdout for name in COMMANDS)


def test_sigterm_ends_quietly_with_0(tmp_path: Path) -> None:
    program = (
        "import time, typer; from types import SimpleNamespace; from tailer.cli import app\n"
        "probe = typer.Typer(add_completion=False)\n"
        "@probe.command()\n"
        "def body() -> None:\n"
        # Short naps: a signal between the last line of Python and one long nap's beginning would wait for its end.
        "    print('ready', flush=True)\n"
        "    for _ in range(1200): time.sleep(0.05)\n"
        "import sys; app.COMMANDS = ('probe',); sys.modules['tailer.cli.probe'] = SimpleNamespace(app=probe)\n"
        "sys.argv = ['cdc-tail', 'probe']; app.run()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, b"")


def test_a_reader_that_goes_away_is_an_ordinary_end(sets_root: Path) -> None:
    folder = sets_root / "50-cases" / "cdc_raw"
    command = [*PROGRAM, "inspect", str(folder), "--entries"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        process.stdout.read(100)
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()
    assert (process.returncode, err) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_under_standard_output_is_8() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*PROGRAM, "--help"], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 8
    assert done.stderr == b"cdc-tail: No space left on device. Free space, and start again.\n"


def test_closed_standard_output_is_wrong_usage() -> None:
    done = subprocess.run(
        ["sh", "-c", '"$0" -c "from tailer.cli.app import run; run()" --version >&-', sys.executable],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert b"standard output" in done.stderr


def test_output_is_for_people_on_a_terminal_only(sets_root: Path) -> None:
    folder = sets_root / "50-lz4" / "cdc_raw"
    assert run_process(["inspect", folder]).out.startswith('{"is":"segment"')
    parent, child = pty.openpty()
    with subprocess.Popen([*PROGRAM, "inspect", str(folder)], cwd=ROOT, stdout=child) as process:
        os.close(child)
        shown = b""
        while part := _read(parent):
            shown += part
    os.close(parent)
    assert process.returncode == 0
    assert shown.startswith(b"SEGMENT ")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1000)
    except OSError:  # a terminal's other end was closed
        return b""


def commit_every(text: str) -> Any:
    return COMMIT.take_text(text, "--commit-every")


def test_when_to_save_a_position() -> None:
    assert commit_every("batch") == CommitEvery("batch")
    assert commit_every("segment") == CommitEvery("segment")
    assert commit_every("1000 rows") == CommitEvery("rows", 1000)
    assert commit_every("1row") == CommitEvery("rows", 1)
    assert commit_every("500ms") == CommitEvery("ms", 500)
    for wrong in ("", "0 rows", "-1 rows", "rows", "5 s", "1e3 rows", "batch 5", "٣ rows"):
        with pytest.raises(UsageError, match="--commit-every"):
            commit_every(wrong)


def test_defaults_that_depend_on_the_run() -> None:
    settled = [
        options.for_run(once=once).settle_seconds
        for options, once in ((TailOptions(), False), (TailOptions(), True), (TailOptions(settle_seconds=0.0), True))
    ]
    assert settled == [None, 2, 0]
    assert output_form("arrow") == "arrow"
    assert output_form(None) == "json"


def test_errors_carry_their_place_through_main(command: Any) -> None:
    def body() -> None:
        raise CorruptError("entry CRC does not check", at=Position(1, 2), expected="0x1", found="0x2")

    command(body)
    assert run_cli(["probe"]).err == "cdc-tail: entry CRC does not check at 1:2: expected 0x1, found 0x2.\n"
