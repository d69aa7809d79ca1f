"""One function's code as a file: whole or not used, and of nobody else's."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tailer.jit import code_file
from tailer.jit.code_file import NotKeptError, read_code, write_code

CODE = b"symbol\n" + bytes(range(256))
OTHER_USER = 54321


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    write_code(tmp_path / "module.function", CODE)
    return tmp_path / "module.function"


def test_what_was_written_is_read(kept: Path) -> None:
    assert read_code(kept) == CODE
    write_code(kept, b"newer")
    assert read_code(kept) == b"newer"
    assert [file.name for file in kept.parent.iterdir()] == [kept.name]


def test_a_folder_in_its_place_is_not_left_open(tmp_path: Path) -> None:
    before = sorted(path.name for path in Path("/proc/self/fd").iterdir())
    with pytest.raises(NotKeptError, match="is no file"):
        read_code(tmp_path)
    assert sorted(path.name for path in Path("/proc/self/fd").iterdir()) == before


def test_it_is_durable_before_it_has_its_name(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bytes] = []

    def sync(descriptor: int) -> None:
        synced.append(kept.read_bytes())
        assert os.fstat(descriptor).st_size == kept.stat().st_size

    monkeypatch.setattr(os, "fsync", sync)
    before = kept.read_bytes()
    write_code(kept, CODE[::-1])
    assert synced == [before]
    assert read_code(kept) == CODE[::-1]


def test_what_is_cut_is_not_used(kept: Path) -> None:
    """At any length, none included: what a crash leaves of a file that was never synced."""
    whole = kept.read_bytes()
    for length in range(len(whole)):
        kept.write_bytes(whole[:length])
        with pytest.raises(NotKeptError, match="is damaged"):
            read_code(kept)


def test_what_is_changed_is_not_used(kept: Path) -> None:
    whole = kept.read_bytes()
    for at in range(len(whole)):
        kept.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(NotKeptError, match="is damaged"):
            read_code(kept)
    kept.write_bytes(whole + b"\0")
    with pytest.raises(NotKeptError, match="is damaged"):
        read_code(kept)


def test_zeros_are_not_used(kept: Path) -> None:
    """A file whose length was durable and its bytes were not."""
    kept.write_bytes(bytes(len(kept.read_bytes())))
    with pytest.raises(NotKeptError, match="is damaged"):
        read_code(kept)


def test_another_functions_file_is_not_used(kept: Path) -> None:
    kept.rename(kept.with_name("module.other"))
    with pytest.raises(NotKeptError, match="is damaged"):
        read_code(kept.with_name("module.other"))


def of_another_user(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may give a file away")
    os.chown(path, OTHER_USER, -1)


def link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (of_another_user, f"belongs to user {OTHER_USER}"),
        (lambda path: path.chmod(0o646), "can be written by others"),
        (lambda path: path.chmod(0o664), "can be written by others"),
        (link, "cannot be read"),
        (fifo, "is no file"),
        (lambda path: path.unlink(), "cannot be read"),
    ],
)
def test_what_others_may_have_written_is_not_used(kept: Path, harm: Callable[[Path], None], said: str) -> None:
    harm(kept)
    with pytest.raises(NotKeptError, match=said):
        read_code(kept)


def test_what_root_or_this_user_wrote_is_used(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = kept.stat().st_uid
    assert read_code(kept) == CODE
    monkeypatch.setattr(code_file.os, "geteuid", lambda: owner + 1)
    if owner == 0:
        assert read_code(kept) == CODE
    else:
        with pytest.raises(NotKeptError, match=f"belongs to user {owner}"):
            read_code(kept)


def test_a_link_in_place_of_the_new_file_is_not_followed(kept: Path) -> None:
    victim = kept.with_name("victim")
    victim.write_bytes(b"precious")
    kept.with_name(f"{kept.name}.{os.getpid()}").symlink_to(victim)
    write_code(kept, b"newer")
    assert victim.read_bytes() == b"precious"
    assert read_code(kept) == b"newer"


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o077])
def test_the_umask_opens_it_to_nobody(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_code(tmp_path / "f", CODE)
    finally:
        os.umask(before)
    assert read_code(tmp_path / "f") == CODE
