"""A log that nobody closed: at the end of its program, and when nothing refers to it any more."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import RefusedError
from tests.writer.plain import sidecars
from tests.writer.small_log import numbers, order, small

ROOT = Path(__file__).parents[2]
COUNT = 5000

HEAD = """
import atexit, multiprocessing, os, signal, sys, threading, time
from pathlib import Path
from tests.writer.small_log import order, small
from writer_hooks import batch, group, periodic

folder = Path(sys.argv[1])

def appended(count, **options):
    log = small(folder, segment_bytes=1 << 16, **options)
    for number in range(count):
        log.append(order(number))
    return log

"""


def run(folder: Path, program: str, *flags: str, kill: int = 0) -> tuple[int, str, str]:
    """Exit code, standard output and standard error. `kill`: a signal that is sent at the first line."""
    command = [sys.executable, *flags, "-c", HEAD + program, str(folder)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as made:
        assert made.stdout is not None
        line = made.stdout.readline() if kill else ""
        if kill:
            made.send_signal(kill)
        out, error = made.communicate(timeout=120)
    return made.returncode, line + out, error


def found(folder: Path) -> list[int]:
    with small(folder) as log:
        return numbers(log.replay())


def ended(folder: Path) -> bool:
    """Whether every segment says that no more will come."""
    told = [each is not None and each.completed for each in sidecars(folder / "cdc_raw").values()]
    return bool(told) and all(told)


@pytest.mark.parametrize(
    "options", ["sync=group(2), threads=True", "sync=periodic(60000), threads=True", "threads=False"]
)
def test_a_program_that_ends_without_close_loses_nothing(tmp_path: Path, options: str) -> None:
    assert run(tmp_path, f"log = appended({COUNT}, {options})") == (0, "", "")
    assert ended(tmp_path)
    assert found(tmp_path) == list(range(COUNT))


ENDS = {
    "exit": ("sys.exit(3)", 0, 3),
    "an error": ("raise KeyError('x')", 0, 1),
    # A process that a shell starts in the background ignores it.
    "Ctrl-C": (
        "signal.signal(signal.SIGINT, signal.default_int_handler); print(1, flush=True); time.sleep(60)",
        signal.SIGINT,
        -signal.SIGINT,
    ),
    "SIGTERM as docs/service.md takes it": (
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); print(1, flush=True); time.sleep(60)",
        signal.SIGTERM,
        0,
    ),
}


@pytest.mark.parametrize(("program", "kill", "code"), ENDS.values(), ids=ENDS)
def test_every_normal_end(tmp_path: Path, program: str, kill: int, code: int) -> None:
    # Nobody syncs before the end.
    made = run(tmp_path, f"log = appended(50, sync=periodic(60000), threads=True)\n{program}", kill=kill)
    assert made[0] == code
    assert found(tmp_path) == list(range(50))


def test_a_signal_that_ends_the_process_at_once_takes_nothing_that_was_waited_for(tmp_path: Path) -> None:
    program = "log = appended(50, threads=True); log.sync(); print(1, flush=True); time.sleep(60)"
    assert run(tmp_path, program, kill=signal.SIGTERM)[0] == -signal.SIGTERM
    assert found(tmp_path) == list(range(50))


def test_what_a_daemon_thread_was_told_at_the_end_is_there(tmp_path: Path) -> None:
    program = """
log = small(folder, segment_bytes=1 << 16, threads=True)
def write():
    for number in range(10**9):
        log.append(order(number)).wait()
        os.write(1, b"%d\\n" % number)
for _ in range(3):
    threading.Thread(target=write, daemon=True).start()
time.sleep(0.3)
"""
    code, out, _ = run(tmp_path, program)
    # Of each number three: a change of each thread.
    acknowledged = Counter(map(int, out.split()))
    assert (code, len(acknowledged) > 3) == (0, True)
    assert acknowledged <= Counter(found(tmp_path))
    assert ended(tmp_path)


def test_a_handler_of_the_programs_own_may_still_append(tmp_path: Path) -> None:
    assert run(tmp_path, "log = appended(1, threads=True); atexit.register(lambda: log.append(order(7)))")[0] == 0
    assert found(tmp_path) == [0, 7]


def test_an_open_transaction_is_rolled_back(tmp_path: Path) -> None:
    program = "log = appended(2, threads=True); txn = log.begin(); txn.append(order(8)); log.append(order(9))"
    assert run(tmp_path, program)[:2] == (0, "")
    assert found(tmp_path) == [0, 1, 9]


def test_the_end_warns_where_warnings_are_asked_for(tmp_path: Path) -> None:
    code, _, error = run(tmp_path, "log = appended(1, threads=True)", "-W", "always::ResourceWarning")
    assert code == 0
    assert f"ResourceWarning: the log {tmp_path} was not closed, and is closed now: the program ends" in error
    assert run(tmp_path, "log = appended(1, threads=True); log.close()", "-W", "error") == (0, "", "")


@pytest.mark.parametrize("flags", [(), ("-W", "error::ResourceWarning")])
def test_what_cannot_be_made_durable_is_told_without_a_traceback(tmp_path: Path, flags: tuple[str, ...]) -> None:
    program = """
log = appended(5, sync=periodic(60000), threads=True)
def fails(fd):
    raise OSError(5, "Input/output error")
log._files.fdatasync = fails
"""
    code, _, error = run(tmp_path, program, *flags)
    assert code == 0
    assert f"the log {tmp_path} was not closed, and its last changes may be lost: an fsync failed" in error
    assert ("Traceback" in error) == bool(flags)


CHILDREN = {
    "fork": """
child = os.fork()
if child == 0:
    log = appended(9, threads=True)
    sys.exit(0)
os.waitpid(child, 0)
""",
    "multiprocessing, forked": """
def work():
    global log
    log = appended(9, threads=True)
made = multiprocessing.get_context("fork").Process(target=work)
made.start()
made.join()
""",
}


@pytest.mark.parametrize("program", CHILDREN.values(), ids=CHILDREN)
def test_a_log_that_a_child_opened(tmp_path: Path, program: str) -> None:
    assert run(tmp_path, program)[0] == 0
    assert found(tmp_path) == list(range(9))


def test_a_child_that_ends_leaves_the_log_to_its_parent(tmp_path: Path) -> None:
    program = """
log = appended(3, threads=True)
child = os.fork()
if child == 0:
    del log
    sys.exit(0)
print(os.waitpid(child, 0)[1])
log.append(order(3))
"""
    code, out, error = run(tmp_path, program, "-W", "always::ResourceWarning")
    assert (code, out) == (0, "0\n")
    assert error.count("was not closed") == 1
    assert found(tmp_path) == [0, 1, 2, 3]


@pytest.mark.parametrize("threads", [True, False])
def test_a_log_that_is_dropped_is_closed_with_a_warning(tmp_path: Path, threads: bool) -> None:
    log = small(tmp_path, threads=threads)
    log.append(order(1))
    with pytest.warns(ResourceWarning, match=f"the log {tmp_path} was not closed.* nothing refers to it any more"):
        del log
    with small(tmp_path) as again:
        again.append(order(2)).wait()
        assert numbers(again.replay()) == [1, 2]


def test_a_log_that_is_dropped_in_a_cycle(tmp_path: Path) -> None:
    holder: dict[str, Any] = {"log": small(tmp_path, threads=True)}
    holder["self"] = holder
    holder["log"].append(order(1))
    gc.collect()
    del holder
    told = rf"in this process \({tmp_path}\): found pid {os.getpid()} on .*\. Close that SegmentLog.* gc\.collect\(\)"
    with pytest.raises(RefusedError, match=told):
        small(tmp_path)
    with pytest.warns(ResourceWarning, match="was not closed"):
        gc.collect()
    assert found(tmp_path) == [1]


def test_a_log_that_is_open_in_this_process_is_told_so_by_any_name_of_its_folder(tmp_path: Path) -> None:
    folder, link = tmp_path / "data", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    with small(folder) as log:
        with pytest.raises(RefusedError, match="another writer has this log open, in this process"):
            small(link)
        log.append(order(1)).wait()
    small(link).close()


def test_a_log_of_another_process_is_told_so(tmp_path: Path) -> None:
    program = "log = appended(1, threads=True); print(1, flush=True); time.sleep(60)"
    command = [sys.executable, "-c", HEAD + program, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as made:
        assert made.stdout is not None
        made.stdout.readline()
        with pytest.raises(RefusedError, match=f"another writer has this log open .*pid {made.pid} on .*stop that one"):
            small(tmp_path)
        made.kill()


def test_what_refers_to_a_log_keeps_it_open(tmp_path: Path) -> None:
    transaction = small(tmp_path, threads=True).begin()
    gc.collect()
    transaction.append(order(1))
    transaction.commit().wait()
    with pytest.warns(ResourceWarning):
        del transaction
    assert found(tmp_path) == [1]
