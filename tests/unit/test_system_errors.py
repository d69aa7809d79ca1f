"""What the operating system refuses, as documented errors: which class, which path, what mends it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tailer.errors import CorruptError, SinkError, SystemFailedError, UsageError
from tailer.position import Position
from tailer.sinks.base import ByteStream
from tailer.spark.errors import CdcTailError, told
from tailer.state.cleaned import CleanedFile, write_cleaned
from tailer.state.ids import Ids
from tailer.state.modes import make_folder
from tailer.state.quarantine import Quarantine
from tailer.system_errors import path_of, system_error


def refused(number: int, path: object = None) -> OSError:
    return OSError(number, os.strerror(number), path)


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (errno.EACCES, UsageError, "no permission for user"),
        (errno.EPERM, UsageError, "no permission for user"),
        (errno.EROFS, UsageError, "Read-only file system"),
        (errno.ENOSPC, SystemFailedError, "No space left on device"),
        (errno.EDQUOT, SystemFailedError, "quota exceeded"),
        (errno.EIO, SystemFailedError, "Input/output error"),
    ],
)
def test_each_is_of_one_class_and_names_the_path(
    number: int, kind: type[Exception], words: str, tmp_path: Path
) -> None:
    for found in (
        system_error("cannot write", refused(number), tmp_path / "file", writes=True),
        system_error("cannot write", refused(number, tmp_path / "file"), writes=True),
        system_error("", refused(number, os.fsencode(tmp_path / "file"))),
    ):
        assert type(found) is kind
        assert words in found.sentence()
        assert f"({tmp_path / 'file'})" in found.sentence()


def test_without_a_path_it_is_the_systems_word() -> None:
    """As of a write to a descriptor, whose number is no path."""
    assert system_error("", refused(errno.EACCES, 7)).sentence().startswith("no permission for user")
    assert system_error("", OSError("closed")).sentence() == "closed."


def test_in_spark_they_have_the_same_codes(tmp_path: Path) -> None:
    for number, code in ((errno.EACCES, 2), (errno.ENOSPC, 8)):
        with pytest.raises(CdcTailError, match=rf"\[CDC-{code}\] .*{tmp_path}"), told():
            raise refused(number, str(tmp_path))


def test_a_full_disk_under_the_state_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, *_: object) -> int:
        raise refused(errno.ENOSPC)

    at = Position(7, 100)
    quarantine = Quarantine(tmp_path, "billing", "local")
    make_folder(tmp_path / "quarantine")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SystemFailedError, match=rf"No space left.*{tmp_path}/cleaned.json.*Free space"):
        write_cleaned(tmp_path, CleanedFile(segments=Ids([(1, 2)])))
    with pytest.raises(SystemFailedError, match=rf"No space left.*{tmp_path}/quarantine/billing.jsonl"):
        quarantine.keep(at, "CommitLog-7-7.log", CorruptError("bad", at=at), b"bytes")


def test_rows_into_a_file_name_it(tmp_path: Path) -> None:
    """A shell has sent them there: standard output has no name of its own."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no device that is always full")
    with open("/dev/full", "wb", buffering=0) as full, pytest.raises(SinkError, match=r"\(/dev/full\)"):
        ByteStream(full).write(b"{}\n")
    with (tmp_path / "rows").open("wb") as out:
        assert path_of(out.fileno()) == str(tmp_path / "rows")
    reading, writing = os.pipe()
    assert path_of(writing) is None
    os.close(reading)
    os.close(writing)
