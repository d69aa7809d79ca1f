"""Which twin reads: small spans never wait for compiled code, and nothing that goes wrong with it stops a reader."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from tailer.framing.entry import scan_entries as plain_entries
from tailer.framing.forms import ENTRIES
from tailer.jit import ahead, ready, store
from tailer.jit.code_file import NotKeptError
from tailer.jit.ready import WORTH_BYTES, Choice
from tailer.scan.forms import MUTATIONS
from tailer.scan.mutation.scan import scan as plain_scan
from tests.unit.scan.compiled.twins import compiled_only

MUCH = WORTH_BYTES
BUILD = "tailer.rows.generic.compiled.build"


class Compiler:
    """Stands in for code on its way."""

    def __init__(self, *, succeeded: bool = True, notice: str | None = None) -> None:
        self.over = False
        self.succeeded = succeeded
        self.notice = notice
        self.started = 0

    def __call__(self) -> Compiler:
        self.started += 1
        return self

    def is_over(self) -> bool:
        return self.over

    def forget_process(self) -> None:
        self.over = False


class Modules:
    """Stands in for the modules of compiled functions."""

    def __init__(self) -> None:
        self.loaded: list[str] = []
        self.failures: list[Exception] = []
        self.discarded = 0

    def load(self, name: str) -> Any:
        if name == "tailer.jit.decorators":
            return SimpleNamespace(only_load=lambda: None)
        if self.failures:
            raise self.failures.pop()
        self.loaded.append(name)
        return SimpleNamespace(scan="compiled scan", scan_entries="compiled entries", build="compiled build")

    def discard(self) -> None:
        self.discarded += 1


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Modules:
    found = Modules()
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setattr(ready, "find_spec", lambda name: name)
    monkeypatch.setattr(ready, "import_module", found.load)
    monkeypatch.setattr(store, "kept", lambda: "a folder")
    monkeypatch.setattr(store, "take_news", lambda: None)
    monkeypatch.setattr(store, "discard", found.discard)
    return found


@pytest.fixture
def cold(modules: Modules, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """Nothing is compiled yet."""
    compiler = Compiler()
    monkeypatch.setattr(store, "kept", lambda: None)
    monkeypatch.setattr(ahead, "Compiling", compiler)
    return compiler


def is_plain(chosen: Choice) -> bool:
    return chosen.form(*MUTATIONS) is plain_scan and chosen.form(*ENTRIES) is plain_entries


def test_switched_off(modules: Modules, monkeypatch: pytest.MonkeyPatch) -> None:
    off = Choice("0")
    off.expect(MUCH)
    off.bring(BUILD)
    assert is_plain(off)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    numba_off = Choice("1")
    numba_off.expect(MUCH)
    assert is_plain(numba_off)
    assert modules.loaded == []


def test_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready, "find_spec", lambda name: None)
    without = Choice("1")
    without.expect(MUCH)
    assert is_plain(without)
    assert without.take_notices() == []


def test_little_is_read_by_the_plain_twins(modules: Modules) -> None:
    little = Choice(None)
    little.expect(MUCH - 1)
    assert is_plain(little)
    assert modules.loaded == []


def test_much_is_read_by_the_plain_twins_until_the_others_are_compiled(cold: Compiler) -> None:
    much = Choice(None)
    much.expect(MUCH)
    much.expect(MUCH)
    assert is_plain(much)
    cold.over = True
    much.expect(MUCH)
    assert not is_plain(much)
    assert much.form(*ENTRIES, False) is plain_entries
    assert much.take_notices() == []


def test_many_small_spans_load_in_a_thread_what_they_asked_for(modules: Modules) -> None:
    many = Choice(None)
    for _ in range(5):
        many.expect(MUCH // 4)
        many.twin(BUILD)
    assert many._loader is not None
    many._loader.join()
    assert set(modules.loaded) >= {"tailer.framing.compiled.chain", BUILD}


def test_what_is_not_asked_for_is_not_loaded(modules: Modules) -> None:
    large = Choice(None)
    large.expect(MUCH)
    assert modules.loaded == ["tailer.framing.compiled.chain"]
    assert large.twin(BUILD) is large.twin(BUILD)
    assert modules.loaded.count(BUILD) == 1


def test_what_much_is_about_to_come_for_is_there_at_once(modules: Modules) -> None:
    begun = Choice(None)
    begun.bring(BUILD)
    assert begun.twin(BUILD) is not None
    begun.bring("another")
    assert modules.loaded[-1] == "another"


def test_nobody_waits_for_the_compiler(cold: Compiler) -> None:
    begun = Choice(None)
    begun.bring(BUILD)
    assert (begun.twin(BUILD), cold.started) == (None, 1)
    cold.over = True
    begun.expect(MUCH)
    assert begun.twin(BUILD) is not None


def test_waiting_for_them_can_be_asked_for(cold: Compiler) -> None:
    waiting = Choice("1")
    threading.Timer(0.2, lambda: setattr(cold, "over", True)).start()
    waiting.expect(1)
    assert not is_plain(waiting)
    assert waiting.form(*ENTRIES, False) is not plain_entries


def test_what_does_not_compile_is_said_and_done_without(cold: Compiler) -> None:
    cold.over, cold.succeeded, cold.notice = True, False, "no compiler"
    failing = Choice(None)
    failing.expect(MUCH)
    failing.expect(MUCH)
    assert is_plain(failing)
    assert failing.take_notices() == ["no compiler"]
    assert failing.take_notices() == []


def test_what_does_not_import_is_said_and_done_without(modules: Modules) -> None:
    modules.failures = [ImportError("a broken library")]
    failing = Choice("1")
    failing.expect(1)
    assert is_plain(failing)
    assert failing.take_notices() == ["no compiled code, the plain reader goes on, slower: a broken library"]
    assert modules.discarded == 0


def test_what_is_kept_and_does_not_load_is_compiled_anew_once(
    modules: Modules, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = Compiler()
    monkeypatch.setattr(ahead, "Compiling", compiler)
    modules.failures = [NotKeptError("cut short") for _ in range(2)]
    failing = Choice(None)
    failing.expect(MUCH)
    assert is_plain(failing)
    assert (modules.discarded, compiler.started) == (1, 1)
    compiler.over = True
    failing.expect(MUCH)
    assert failing.take_notices() == [
        "cut short: it is compiled anew",
        "no compiled code, the plain reader goes on, slower: cut short",
    ]
    assert is_plain(failing)
    assert compiler.started == 1


def test_a_twin_that_fails_later_stops_nobody(modules: Modules) -> None:
    failing = Choice("1")
    failing.expect(1)
    assert not is_plain(failing)
    modules.failures = [ImportError("gone")]
    assert failing.twin(BUILD) is None
    assert is_plain(failing)
    assert len(failing.take_notices()) == 1


def test_what_the_code_has_to_say_is_said(modules: Modules, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "take_news", lambda: "kept elsewhere")
    told = Choice("1")
    told.expect(1)
    assert told.take_notices() == ["kept elsewhere"]


def test_a_fork_leaves_the_child_able_to_read(cold: Compiler) -> None:
    """What os.fork would run in the child: no lock that a thread of the parent holds, nothing half imported."""
    parent = Choice(None)
    parent.expect(MUCH)
    assert parent._lock.acquire()
    parent.after_fork()
    parent.expect(MUCH)
    assert is_plain(parent)
    parent._stage = ready._Stage.LOADING
    parent.after_fork()
    parent.expect(MUCH)
    assert is_plain(parent)


@compiled_only
def test_the_compiled_twins_are_what_is_said_to_be_compiled() -> None:
    """What is kept is what the compiler is told to make: nothing is made by the way, and not found by a reader."""
    from importlib import import_module

    for module, name in ahead.COMPILED:
        getattr(import_module(module), name)
    folder = store.kept() or store.room()
    assert folder is not None
    kept = {file.name for file in folder.iterdir() if file.name.startswith("tailer.")}
    assert kept == {f"{module}.{name}" for module, name in ahead.COMPILED}
