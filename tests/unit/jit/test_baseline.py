"""Code that a wheel carries: used on machines that it fits, never removed, and passed over where it is not whole."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailer.jit import baseline, store
from tailer.jit.baseline import VARIABLES, baseline_name, is_such_a_machine, made_for
from tailer.jit.code_file import NotKeptError, write_code

FEATURES = ("cx16", "lahf_lm", "pclmulqdq", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3")
"""By Linux's names: those of x86-64-v2 (its sse, sse2 and the like has every processor of 64 bits), and one more."""

OF_2011 = " ".join(("x86_64 model name : any", "flags : fpu sse sse2", *FEATURES))


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine of 2011 on which nothing is compiled yet; the folder of the package."""
    package = tmp_path / "package"
    package.mkdir()
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(store, "BESIDE", package / "__pycache__")
    monkeypatch.setattr(store, "CARRIED", package / "object_code")
    monkeypatch.setattr(store, "_processor", lambda: OF_2011)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    for variable in ("NUMBA_CACHE_DIR", *VARIABLES):
        monkeypatch.delenv(variable, raising=False)
    store._name.cache_clear()
    yield package
    store._name.cache_clear()
    store._refused.clear()
    store._told.clear()


@pytest.fixture
def carried(machine: Path) -> Path:
    """What a wheel has brought along."""
    folder = machine / "object_code" / baseline_name()
    folder.mkdir(parents=True)
    write_code(folder / "a.function", b"code")
    return folder


def test_a_machine_of_2011_can_run_it() -> None:
    assert is_such_a_machine(OF_2011)


@pytest.mark.parametrize("lacking", FEATURES)
def test_a_processor_without_one_of_the_features_does_not(
    lacking: str, carried: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_processor", lambda: OF_2011.replace(lacking, f"no_{lacking}"))
    assert store.kept() is None
    assert store.take_refusals() == []


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        (platform, "machine", lambda: "aarch64"),
        (platform, "machine", lambda: "i686"),
        (sys, "platform", "darwin"),
        (sys, "maxsize", (1 << 31) - 1),
    ],
)
def test_another_kind_of_machine_does_not(
    where: object, name: str, value: object, carried: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, value)
    assert store.kept() is None


@pytest.mark.parametrize("variable", VARIABLES)
def test_who_names_a_processor_gets_code_for_that(
    variable: str, carried: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, made_for()[variable])
    assert store.kept() is None


def test_it_is_found_where_nothing_was_compiled(carried: Path) -> None:
    assert store.kept() == carried
    assert store.read(carried, "a.function") == b"code"
    assert store.take_refusals() == []
    assert store.take_news() is None


def test_what_was_compiled_here_comes_first(carried: Path) -> None:
    room = store.room()
    assert room is not None
    store.finish(room)
    assert store.kept() == store._whole_of(room)


def test_code_of_other_sources_is_not_found(carried: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the package was changed where it is installed."""
    monkeypatch.setattr(baseline, "SOURCES", baseline.SOURCES + 1)
    assert store.kept() is None


def test_what_others_may_write_is_not_used_and_that_is_said_once(carried: Path) -> None:
    for folder in (carried, carried.parent):
        folder.chmod(0o757)
        assert store.kept() is None
        assert store.take_refusals() == [f"{folder} can be written by others: compiled code there is not used"]
        assert store.take_refusals() == []
        folder.chmod(0o755)
        store._refused.clear()
    (carried / "a.function").chmod(0o646)
    with pytest.raises(NotKeptError, match="can be written by others"):
        store.read(carried, "a.function")


def test_another_users_is_not_used(carried: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may give a file away")
    os.chown(carried / "a.function", 54321, -1)
    with pytest.raises(NotKeptError, match="belongs to user 54321"):
        store.read(carried, "a.function")
    os.chown(carried, 54321, -1)
    assert store.kept() is None
    assert store.take_refusals() == [f"{carried} belongs to user 54321: compiled code there is not used"]


def test_a_group_that_may_write_the_source_may_write_it(carried: Path) -> None:
    """As pip installs for a user whose umask is 002."""
    for path, mode in ((carried.parent, 0o775), (carried, 0o775), (carried / "a.function", 0o664)):
        path.chmod(mode)
    assert store.kept() == carried
    assert store.read(carried, "a.function") == b"code"


@pytest.mark.parametrize("kept", [0, 1, 20, -1])
def test_what_is_cut_is_passed_over_and_stays_where_it_is(kept: int, carried: Path) -> None:
    """The files are the package manager's. Compiled anew is kept elsewhere, and found first from then on."""
    file = carried / "a.function"
    file.write_bytes(file.read_bytes()[:kept])
    cut = file.read_bytes()
    with pytest.raises(NotKeptError, match="is damaged"):
        store.read(carried, "a.function")
    store.discard_damaged(["a.function"])
    assert store.kept() is None
    assert store.take_refusals() == []
    assert file.read_bytes() == cut
