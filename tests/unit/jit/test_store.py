"""Where compiled code is kept: found whole or not at all, and gone when it is of no use any more."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tailer.jit import sources, store
from tailer.jit.code_file import write_code
from tests.house.source_tree import ROOT


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "BESIDE", tmp_path / "package" / "__pycache__")
    monkeypatch.setattr(store, "CARRIED", tmp_path / "package" / "object_code")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    store._name.cache_clear()
    yield
    store._name.cache_clear()
    store._refused.clear()
    store._told.clear()


def rebuilt(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Other sources."""
    monkeypatch.setattr(store, "SOURCES", number)
    store._name.cache_clear()


def compile_all() -> Path:
    partial = store.room()
    assert partial is not None
    (partial / "code").write_text("")
    store.finish(partial)
    folder = store.kept()
    assert folder is not None
    return folder


def test_code_is_found_when_it_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    partial = store.room()
    assert partial is not None
    assert store.kept() is None
    folder = compile_all()
    assert folder.parent == store.BESIDE
    assert (folder / "code").exists()
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    store._name.cache_clear()
    assert store.kept() is None


def test_a_folder_of_the_users_choice_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    assert compile_all().parent == tmp_path / "chosen" / "cdc-tail"
    assert store.take_news() is None
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    assert store.kept() is None


def test_where_the_package_cannot_be_written_the_users_folder_serves(tmp_path: Path) -> None:
    (tmp_path / "package").write_text("a file in the way")
    assert compile_all().parent == tmp_path / "home" / "cdc-tail"
    news = store.take_news()
    assert news is not None
    assert str(tmp_path / "home") in news
    assert store.take_news() is None


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert store.folders() == [store.BESIDE]


def test_earlier_code_goes_when_newer_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rebuilt(monkeypatch, 1)
    first = compile_all()
    rebuilt(monkeypatch, 2)
    unfinished = store.room()
    rebuilt(monkeypatch, 3)
    other = store.BESIDE / "module.cpython-311.pyc"
    other.write_text("")
    elsewhere = store.BESIDE / "compiled-0123456789abcdef-0123456789abcdef"
    elsewhere.mkdir()
    assert first.exists()
    last = compile_all()
    assert set(store.BESIDE.iterdir()) == {last, store._lock_of(last), other, elsewhere}
    assert unfinished is not None
    # The process that was compiling them has nowhere to go, and does not mind.
    store.finish(unfinished)


def test_who_comes_second_leaves_what_is_there() -> None:
    partial = store.room()
    folder = compile_all()
    partial = store.room()
    assert partial is not None
    store.finish(partial)
    assert (folder / "code").exists()
    assert not partial.exists()


def of_others(path: Path) -> str:
    """Makes a folder one that others may have put something into; how that is said."""
    path.chmod(0o757)
    return "can be written by others"


def of_another_user(path: Path) -> str:
    if os.geteuid() != 0:
        pytest.skip("only root may give a folder away")
    os.chown(path, 54321, -1)
    return "belongs to user 54321"


HARMS = pytest.mark.parametrize("harm", [of_others, of_another_user])


@HARMS
@pytest.mark.parametrize("whole", [True, False])
def test_a_folder_of_others_is_not_used_and_that_is_said_once(
    tmp_path: Path, harm: Callable[[Path], str], whole: bool
) -> None:
    """Neither what is in it nor it itself: the next folder serves."""
    folder = compile_all()
    harmed = folder if whole else store.BESIDE
    why = harm(harmed)
    assert store.kept() is None
    assert store.take_refusals() == [f"{harmed} {why}: compiled code there is not used"]
    assert store.take_refusals() == []
    if not whole:
        assert compile_all().parent == tmp_path / "home" / "cdc-tail"
        assert store.take_news() == f"{store.BESIDE} cannot be used: compiled code is kept in {tmp_path}/home/cdc-tail"
    assert store.take_refusals() == []


@HARMS
def test_what_others_may_have_put_aside_is_not_gone_on_with(tmp_path: Path, harm: Callable[[Path], str]) -> None:
    partial = store.room()
    assert partial is not None
    harm(partial)
    room = store.room()
    assert room is not None
    assert room.parent == tmp_path / "home" / "cdc-tail"


def test_a_group_that_may_write_the_source_may_write_beside_it() -> None:
    """The folder of Python's own compiled files has the rights that the user's umask gives it."""
    folder = compile_all()
    store.BESIDE.chmod(0o775)
    assert store.kept() == folder
    folder.chmod(0o775)
    assert store.kept() is None


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o077])
def test_folders_are_made_so_that_they_are_used(umask: int) -> None:
    before = os.umask(umask)
    try:
        folder = compile_all()
    finally:
        os.umask(before)
    assert store.kept() == folder


@pytest.mark.parametrize("harm", [Path.unlink, lambda file: file.write_bytes(b"")])
def test_what_is_damaged_is_found_and_discarded(harm: Callable[[Path], object]) -> None:
    partial = store.room()
    assert partial is not None
    write_code(partial / "a", b"code")
    write_code(partial / "b", b"code")
    store.finish(partial)
    store.discard_damaged(["a", "b"])
    folder = store.kept()
    assert folder is not None
    harm(folder / "b")
    store.discard_damaged(["a"])
    assert store.kept() == folder
    store.discard_damaged(["a", "b"])
    assert store.kept() is None
    assert not folder.exists()


def test_what_is_damaged_and_cannot_be_removed_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = compile_all()
    monkeypatch.setattr(store.shutil, "rmtree", lambda path, ignore_errors: None)
    store.discard()
    assert store.kept() is None
    assert store.take_refusals() == [f"{folder} is damaged and cannot be removed: compiled code there is not used"]


def test_only_one_may_compile() -> None:
    assert not store.is_being_compiled()
    partial = store.room()
    assert partial is not None
    with store.compiling(partial) as first, store.compiling(partial) as second:
        assert (first, second) == (True, False)
        assert store.is_being_compiled()
    assert not store.is_being_compiled()


PYTHON = {
    "tailer.framing.compiled": {"entries"},
    "tailer.jit": {"addresses", "ahead", "baseline", "code_file", "link", "ready", "sources", "store", "without_numba"},
    "tailer.scan.compiled": {"block_scan"},
    "tailer.scan.mutation.compiled": {"scan"},
    "tailer.scan.record.compiled": {"scan"},
    "tailer.types.compiled": set[str](),
    "tailer.image_state.compiled": {"lane", "room", "served_lane", "tables"},
    "tailer.images.compiled": set(),
    "tailer.snapshot.compiled": set(),
    "tailer.rows.generic.compiled": {"batch", "build", "merge", "subset"},
    "tailer.rows.typed.compiled": {
        "blocks",
        "fast",
        "multi",
        "nested",
        "one_row",
        "sparse_arrays",
        "straight_rows",
        "texts",
        "wide",
        "woven",
    },
}
"""Modules that call compiled functions and have none."""


def test_every_compiled_module_is_a_part_of_the_name() -> None:
    folders = [ROOT / "tailer" / "jit", *(ROOT / "tailer").rglob("compiled")]
    found = {
        ".".join(folder.relative_to(ROOT).parts): {file.stem for file in folder.glob("*.py")} for folder in folders
    }
    assert found.keys() == PYTHON.keys()
    for package, modules in found.items():
        assert set(sources._SOURCES[package]) == modules - PYTHON[package] - {"__init__"}, package
