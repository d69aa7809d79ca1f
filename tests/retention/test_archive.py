"""`clean --archive` puts segments away before it deletes them, and what is put away gives the same rows."""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import pytest

from tailer.archive.manifest import MANIFEST, the_identity
from tailer.errors import CorruptError, RefusedError, SystemFailedError, UsageError
from tailer.retention import clean as cleaning
from tailer.retention.clean import CleanOptions
from tailer.retention.needed import Ages, Decision
from tailer.retention.restore import restore
from tailer.stores.folder_store import FolderStore
from tests.conftest import FreshFolder
from tests.helpers.cli import run_cli
from tests.helpers.compare import same_rows, without_truncates
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of, simple_table
from tests.helpers.sets import FRAMED, PLAIN, key_options
from tests.oracle import expected

FAR: float = 4_000_000_000.0
FIRST = 1_700_000_000_000
TABLE = simple_table("ks", "t")


def clean(folder: Path, store: FolderStore | None, *, dry_run: bool = False) -> Decision:
    options = CleanOptions(no_consumers=True, stopped=True, dry_run=dry_run, archive=store)
    return cleaning.clean(folder, options, ages=Ages(0.0, 0.0), clock=lambda: FAR)


def state_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.cdc_tail")


@pytest.mark.parametrize("name", [*PLAIN, *FRAMED])
def test_an_archive_alone_gives_the_rows_of_the_set(
    name: str, sets_root: Path, fresh_folder: FreshFolder, tmp_path: Path
) -> None:
    folder, set_dir = fresh_folder(name), sets_root / name
    options, env = key_options(set_dir)
    want = expected(set_dir, folder, stopped=True)
    once = ["--once", "--stopped", "--output", "json", *options]
    before = run_cli(["follow", folder, *once, "--consumer", "c"], env)
    run_cli(["consumers", folder, "drop", "c"])
    store = FolderStore(tmp_path / "archive")
    gone = clean(folder, store)
    assert gone.logs
    assert list(folder.glob("*.log")) == []
    shutil.rmtree(folder)
    shutil.rmtree(state_of(folder))
    into = tmp_path / "back"
    assert restore(store, the_identity(store), into).segments == [held.segment for held in gone.logs]
    again = run_cli(["follow", into, *once], env)
    assert (again.code, again.lines) == (before.code, before.lines)
    if name != "50-torn":
        # That one was dumped with the definitions of its end.
        same_rows(want.rows, without_truncates(again.lines))


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    """Three finished segments that a consumer has read, which is gone."""
    folder = LogFolder(tmp_path / "cdc_raw")
    for number in range(3):
        payloads = [create_payload(TABLE)] if number == 0 else []
        writer = segment_of(FIRST + number, [[*payloads, insert_payload(TABLE, number, "a", number)]])
        folder.put(writer, completed(writer))
    run_cli(["follow", folder.path, "--once", "--consumer", "c", "--output", "json"])
    run_cli(["consumers", folder.path, "drop", "c"])
    return folder


def values(folder: Path) -> list[int]:
    result = run_cli(["follow", folder, "--once", "--stopped", "--output", "json"])
    assert result.code == 0, result.err
    return [json.loads(line)["columns"]["v"] for line in result.lines]


def test_a_position_of_the_log_counts_in_what_was_restored(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "cdc_raw")
    for number in range(3):
        writer = segment_of(FIRST + number, [[create_payload(TABLE), insert_payload(TABLE, number, "a", number)]])
        folder.put(writer, completed(writer))
        if number == 1:
            run_cli(["follow", folder.path, "--once", "--consumer", "c", "--output", "json"])
    (state,) = msgspec.json.decode((state_of(folder.path) / "consumers" / "c.json").read_bytes())["nodes"].values()
    run_cli(["follow", folder.path, "--once", "--consumer", "other", "--output", "json"])
    for name in ("c", "other"):
        run_cli(["consumers", folder.path, "drop", name])
    store = FolderStore(tmp_path / "archive")
    clean(folder.path, store)
    restore(store, the_identity(store), tmp_path / "back")
    place = msgspec.json.encode(state["offset"]).decode()
    rest = run_cli(["follow", tmp_path / "back", "--once", "--output", "json", "--from", place])
    assert (rest.code, [json.loads(line)["columns"]["v"] for line in rest.lines]) == (0, [2]), rest.err


class Failing(FolderStore):
    """Fails at its call of that number, before or after the file is there, as a kill does."""

    def __init__(self, folder: Path, at: int, error: Callable[[], BaseException], *, after: bool) -> None:
        super().__init__(folder)
        self.calls = 0
        self._at, self._error, self._after = at, error, after

    def put(self, name: str, parts: Iterable[bytes]) -> None:
        self.calls += 1
        if self.calls == self._at and not self._after:
            raise self._error()
        super().put(name, parts)
        if self.calls == self._at:
            raise self._error()


@pytest.mark.parametrize("after", [False, True])
def test_killed_at_any_step_nothing_is_gone_that_is_not_archived(
    log: LogFolder, tmp_path: Path, *, after: bool
) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(log.path, whole)
    shutil.copytree(state_of(log.path), state_of(whole))
    for step in (1, 2, 3, 4, 6, 10, 11):
        shutil.rmtree(log.path)
        shutil.rmtree(state_of(log.path))
        shutil.rmtree(tmp_path / "archive", ignore_errors=True)
        shutil.rmtree(tmp_path / "back", ignore_errors=True)
        shutil.rmtree(tmp_path / "back.cdc_tail", ignore_errors=True)
        shutil.copytree(whole, log.path)
        shutil.copytree(state_of(whole), state_of(log.path))
        killed = Failing(tmp_path / "archive", step, KeyboardInterrupt, after=after)
        try:
            clean(log.path, killed)
            break
        except KeyboardInterrupt:
            assert values(log.path) == [0, 1, 2], "the lock was not taken yet: nothing is deleted"
        store = FolderStore(tmp_path / "archive")
        assert len(clean(log.path, store).logs) == 3
        restore(store, the_identity(store), tmp_path / "back")
        assert values(tmp_path / "back") == [0, 1, 2]
    assert killed.calls == 10, "the journal once, and of each segment log, sidecar, manifest"


def test_killed_between_the_record_and_the_last_file_the_rest_goes_next_time(
    log: LogFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, unlink, count = FolderStore(tmp_path / "archive"), cleaning._unlink, [0]

    def killed(path: Path) -> None:
        count[0] += 1
        if count[0] == 3:
            raise KeyboardInterrupt
        unlink(path)

    with monkeypatch.context() as patch:
        patch.setattr(cleaning, "_unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            clean(log.path, store)
    clean(log.path, store)
    assert list(log.path.glob("*.log")) == []
    restore(store, the_identity(store), tmp_path / "back")
    assert values(tmp_path / "back") == [0, 1, 2]


def test_a_full_disk_is_exit_8_and_nothing_goes(log: LogFolder, tmp_path: Path) -> None:
    full = Failing(tmp_path / "archive", 3, lambda: SystemFailedError("no space left"), after=False)
    with pytest.raises(SystemFailedError):
        clean(log.path, full)
    assert values(log.path) == [0, 1, 2]


def test_a_segment_that_changed_since_stays(log: LogFolder, tmp_path: Path) -> None:
    class Meddling(FolderStore):
        def put(self, name: str, parts: Iterable[bytes]) -> None:
            super().put(name, parts)
            if name.endswith(f"{FIRST + 1}/{MANIFEST}"):
                (other,) = log.path.glob(f"*-{FIRST + 1}.log")
                other.write_bytes(other.read_bytes() + b"\0" * 8)

    gone = clean(log.path, Meddling(tmp_path / "archive"))
    assert [held.segment for held in gone.logs] == [FIRST, FIRST + 2]
    assert len(list(log.path.glob("*.log"))) == 1


def test_a_dry_run_puts_nothing_away(log: LogFolder, tmp_path: Path) -> None:
    assert len(clean(log.path, FolderStore(tmp_path / "archive"), dry_run=True).logs) == 3
    assert not (tmp_path / "archive").exists()


@pytest.fixture
def archived(log: LogFolder, tmp_path: Path) -> FolderStore:
    store = FolderStore(tmp_path / "archive")
    clean(log.path, store)
    return store


def files(store: FolderStore, pattern: str) -> list[Path]:
    return sorted(Path(store.where).rglob(pattern))


@pytest.mark.parametrize("pattern", ["*.log", "*.idx", "journal-*"])
def test_damaged_bytes_are_told_and_get_no_name(archived: FolderStore, tmp_path: Path, pattern: str) -> None:
    path = files(archived, pattern)[-1]
    data = path.read_bytes()
    for damaged in (data[:-1], data[:-1] + bytes([data[-1] ^ 1])):
        path.write_bytes(damaged)
        with pytest.raises(CorruptError, match="SHA-256"):
            restore(archived, the_identity(archived), tmp_path / "back")
        assert not (tmp_path / "back" / path.name).exists()
    path.unlink()
    with pytest.raises(CorruptError, match="no such file"):
        restore(archived, the_identity(archived), tmp_path / "back")
    path.write_bytes(data)
    restore(archived, the_identity(archived), tmp_path / "back")
    assert values(tmp_path / "back") == [0, 1, 2], "killed or refused, the rest comes"


def test_a_manifest_of_a_later_version_is_refused(archived: FolderStore, log: LogFolder, tmp_path: Path) -> None:
    path = files(archived, MANIFEST)[0]
    path.write_bytes(path.read_bytes().replace(b'"v": 1', b'"v": 2'))
    with pytest.raises(RefusedError, match="version of the archive's manifest"):
        restore(archived, the_identity(archived), tmp_path / "back")
    path.write_bytes(b"{")
    with pytest.raises(CorruptError, match="manifest is damaged"):
        restore(archived, the_identity(archived), tmp_path / "back")


def test_a_live_folder_is_not_restored_into(archived: FolderStore, tmp_path: Path) -> None:
    other = tmp_path / "live"
    other.mkdir()
    (other / "CommitLog-7-1.log").write_bytes(b"")
    with pytest.raises(UsageError, match="a folder to restore into"):
        restore(archived, the_identity(archived), other)


def test_the_command_lists_and_restores(archived: FolderStore, tmp_path: Path) -> None:
    listed = run_cli(["archive", archived.where, "list", "--output", "json"])
    assert [json.loads(line)["manifest"]["segment"] for line in listed.lines] == [FIRST, FIRST + 1, FIRST + 2]
    assert "log end" in run_cli(["archive", archived.where, "--output", "pretty"]).out
    done = run_cli(["archive", archived.where, "restore", tmp_path / "back"])
    assert done.code == 0, done.err
    assert values(tmp_path / "back") == [0, 1, 2]
    # Rows stand there in clear: for the owner and the group alone.
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "back").glob("*.log")} == {0o660}
    oldest = files(archived, MANIFEST)[0]
    oldest.write_bytes(msgspec.json.encode({**msgspec.json.decode(oldest.read_bytes()), "written": 1.5e9}))
    assert run_cli(["archive", archived.where, "restore", tmp_path / "b2", "--max-age", "1d"]).code == 0
    assert values(tmp_path / "b2") == [1, 2]
    assert run_cli(["archive", archived.where, "restore"]).code == 2
    assert run_cli(["archive", tmp_path / "nowhere", "restore", tmp_path / "b3"]).code == 2


def test_without_an_id_of_the_state_nothing_is_archived(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "cdc_raw")
    writer = segment_of(FIRST, [[create_payload(TABLE)]])
    folder.put(writer, completed(writer))
    with pytest.raises(RefusedError, match="no id yet"):
        clean(folder.path, FolderStore(tmp_path / "archive"))
    assert len(list(folder.path.glob("*.log"))) == 1


def test_what_else_lies_in_the_folder_is_passed_by(archived: FolderStore, tmp_path: Path) -> None:
    where = Path(archived.where)
    (where / "README.txt").write_text("ours")
    (where / "0123456789abcdef").write_text("a file with the name of a log")
    (where / the_identity(archived) / "1700000000009").write_text("a file with the name of a segment")
    (where / the_identity(archived) / "notes").mkdir()
    (where / "2024" / "12").mkdir(parents=True)
    listed = run_cli(["archive", archived.where, "list", "--output", "json"])
    assert (listed.code, len(listed.lines)) == (0, 3), listed.err
    assert run_cli(["archive", archived.where, "restore", tmp_path / "back"]).code == 0
    assert values(tmp_path / "back") == [0, 1, 2]
