"""Every recorded folder, put into an archive, read through it alone: the server's rows, as from the folder itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tailer.archive.manifest import the_identity
from tailer.retention.clean import CleanOptions, clean
from tailer.retention.needed import Ages
from tailer.stores.folder_store import FolderStore
from tests.conftest import FreshFolder
from tests.golden.test_sets import check, follow
from tests.helpers.amount import ALL
from tests.helpers.sets import Place, folders
from tests.oracle import expected

SOME = [Place("50-lz4"), Place("40-aes"), Place("50-torn"), Place("50-crash-gap", 10), Place("50-cap", 9)]
FAR = 4_000_000_000.0


@pytest.mark.parametrize("place", folders() if ALL else SOME, ids=str)
def test_the_archive_alone_gives_the_rows_of_the_server(
    place: Place, sets_root: Path, fresh_folder: FreshFolder, tmp_path: Path
) -> None:
    folder, store = fresh_folder(place), FolderStore(tmp_path / "archive")
    want = expected(sets_root / place.set, folder, stopped=True)
    before = follow(folder, sets_root, place, "--stopped", "--consumer", "c")
    options = CleanOptions(no_consumers=True, stopped=True, archive=store)
    state = folder.with_name(f"{folder.name}.cdc_tail")
    (state / "consumers" / "c.json").unlink()
    captured = list(folder.glob("*_cdc.idx"))
    gone = clean(folder, options, ages=Ages(0.0, 0.0), clock=lambda: FAR)
    if not captured:
        # The first stages of a log: a folder that never had a sidecar is not cleaned.
        assert (gone.logs, want.rows) == ([], [])
        return
    assert list(folder.glob("*.log")) == []
    cleaned = follow(folder, sets_root, place, "--stopped", "--archive", store.where)
    assert (cleaned.code, cleaned.lines) == (before.code, before.lines), cleaned.err
    shutil.rmtree(state)
    alone = tmp_path / "alone" / "cdc_raw"
    alone.mkdir(parents=True)
    result = follow(alone, sets_root, place, "--stopped", "--archive", f"{store.where}/{the_identity(store)}")
    assert (result.code, result.lines) == (before.code, before.lines), result.err
    check(want, result, place, sets_root)
