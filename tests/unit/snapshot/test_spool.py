"""What was read of a snapshot stands in a folder until it is taken, whoever is killed in between."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tailer.errors import RefusedError
from tailer.rows.batch import Row
from tailer.snapshot.progress import Snapshot
from tailer.snapshot.spool import Spool, read_piece, remove_spool, spool_folder
from tests.retention.killed import Killed, killed_at

TABLE = Snapshot("abc", "ks.t", "0" * 32, 5, 1, [(0, 10)])


def row(number: int) -> Row:
    key = f'{{"id":{number}}}'
    return (
        "n1", "ks", "t", "id", "snapshot", key, None, False, "{}", None, 1, None, None, None,
        number, 1, 2, number, f"snapshot:abc:0:{number}", None, None,
    )  # fmt: skip


def keys(spool: Spool, number: int) -> list[str]:
    return read_piece(spool.path(number).read_bytes()).column("partition_key").to_pylist()


def test_pieces_stand_until_they_are_taken(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    spool.begin("n1=1:0")
    spool.put_table(TABLE)
    for number in range(3):
        spool.add([row(number), row(number + 10)], msgspec.structs.replace(TABLE, rows=2 * (number + 1)))
    spool.taken(1)
    again = Spool(tmp_path / "spool")
    assert (again.known.last, again.known.given, again.known.since) == (3, 1, "n1=1:0")
    assert again.known.tables["0" * 32].rows == 6
    assert [path.name for path in sorted((tmp_path / "spool").glob("piece-*"))] == ["piece-2.arrow", "piece-3.arrow"]
    assert keys(again, 3) == ['{"id":2}', '{"id":12}']
    assert again.size(2) == again.path(2).stat().st_size
    again.taken(9)
    assert again.known.given == 3


def test_what_was_written_and_not_noted_is_written_again(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    noted = spool.begin("")
    spool.add([row(1)], TABLE)
    # As if it had been killed between the two.
    spool.now = noted
    spool._keep(noted)
    again = Spool(tmp_path)
    again.add([row(2)], TABLE)
    assert keys(again, 1) == ['{"id":2}']


def test_pieces_that_are_not_on_record_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process was killed when it had noted that pieces are taken, before it removed their files."""
    spool = Spool(tmp_path)
    spool.begin("")
    for number in range(3):
        spool.add([row(number)], TABLE)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", lambda path, missing_ok=False: None)
        spool.taken(2)
    assert len(list(tmp_path.glob("piece-*"))) == 3
    again = Spool(tmp_path)
    again.sweep()
    assert [path.name for path in tmp_path.glob("piece-*")] == ["piece-3.arrow"]
    assert keys(again, 3) == ['{"id":2}']


def test_another_one_takes_its_place(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    assert spool.now is None
    first = spool.begin("")
    spool.add([row(1)], TABLE)
    assert spool.begin("").id != first.id
    assert (spool.known.last, list(tmp_path.glob("piece-*"))) == (0, [])


def test_what_a_later_version_keeps_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spool.json").write_text('{"v":2}')
    with pytest.raises(RefusedError, match="the spool of a snapshot"):
        Spool(tmp_path)


def test_it_goes_with_all_that_waits_in_it(tmp_path: Path) -> None:
    spool = Spool(spool_folder(tmp_path, "c"))
    spool.begin("n1=1:0")
    spool.add([row(1)], TABLE)
    # Of a process that was killed while it wrote.
    (spool.folder / "piece-2.arrow.new").write_bytes(b"PK")
    remove_spool(spool.folder)
    assert list((tmp_path / "snapshots").iterdir()) == []
    remove_spool(spool.folder)


@pytest.mark.parametrize("names", [["piece-1.arrow"], ["spool.json", "piece-1.arrow", "notes.txt"]])
def test_a_folder_that_is_no_spool_stays_as_it_is(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).write_text("{}")
    remove_spool(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


@pytest.mark.parametrize("calls", [0, 1])
def test_who_is_killed_while_it_goes_leaves_one_that_goes(tmp_path: Path, calls: int) -> None:
    spool = Spool(tmp_path / "spool")
    spool.begin("n1=1:0")
    spool.add([row(1)], TABLE)
    with pytest.raises(Killed), killed_at(calls, ["unlink"]):
        remove_spool(spool.folder)
    remove_spool(spool.folder)
    assert not spool.folder.exists()
