"""Every recorded folder, read once: exactly the rows that follow from the server's view, in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import FreshFolder
from tests.helpers.cli import Result, run_cli, run_process
from tests.helpers.compare import place_of, same_rows, without_truncates
from tests.helpers.sets import STAGES, Place, folders, key_options
from tests.oracle import Expected, Row, expected, recording
from tests.oracle.jsontext import ordered
from tests.oracle.rows import start

WITHOUT_COMMITLOG = ("50-live", "41-lz4-live")
"""Their recorder did not say what the commit log directory held."""

READINGS = [(place, way) for place in folders() for way in ("as-unpacked", "stopped")]
READINGS += [(place, "links") for place in folders() if place.set in STAGES and place.set not in WITHOUT_COMMITLOG]


def follow(folder: Path, sets_root: Path, place: Place, *more: str, process: bool = False) -> Result:
    options, env = key_options(sets_root / place.set)
    run = run_process if process else run_cli
    return run(["follow", folder, "--once", "--output", "json", *options, *more], env)


@pytest.mark.parametrize(("place", "way"), READINGS, ids=lambda value: str(value))
def test_rows_are_those_of_the_server(place: Place, way: str, sets_root: Path, fresh_folder: FreshFolder) -> None:
    folder = fresh_folder(place, links=way == "links")
    stopped = way == "stopped"
    want = expected(sets_root / place.set, folder, stopped=stopped)
    result = follow(folder, sets_root, place, *(["--stopped"] if stopped else []))
    check(want, result, place, sets_root)
    if way != "as-unpacked":
        assert result.code != 9


def check(want: Expected, result: Result, place: Place, sets_root: Path) -> None:
    assert "Traceback" not in result.err
    lines = without_truncates(result.lines)
    rows = want.rows
    if place.set == "50-torn":
        rows, lines = without_what_the_recorder_could_not_see(rows, lines, sets_root)
    same_rows(rows, lines)
    assert result.code == want.exit_code, result.err
    if want.exit_code == 3:
        assert "--schema" in result.err
        assert "--server" in result.err
        first = want.undefined[0]
        assert f"{first.segment}:{first.offset}" in result.err
    if want.exit_code == 9:
        assert str(want.held_back) in result.err
        assert "--stopped" in result.err
        assert "--assume-finished-after" in result.err


def without_what_the_recorder_could_not_see(
    rows: list[Row], lines: list[str], sets_root: Path
) -> tuple[list[Row], list[str]]:
    """`50-torn` was dumped with the definitions of its end: take out the entries that this concerns."""
    seen = {(line["segment"], start(line)) for line in recording(sets_root / "50-torn").every_line()}
    partly = (1795258981168, 17225)
    """An INSERT of `cdc.altered`, shown without the columns that were dropped later."""
    unseen = [line for line in lines if place_of(line)[:2] not in seen or place_of(line)[:2] == partly]
    assert sorted(map(_identity, unseen)) == _lost_in_torn(sets_root)
    kept = [line for line in lines if line not in set(unseen)]
    return [row for row in rows if (row.data["segment"], row.data["offset"]) != partly], kept


def _lost_in_torn(sets_root: Path) -> list[str]:
    """What the same statements gave in a set that was dumped in time."""
    twin = sets_root / "50-lz4"
    first_life = {"cdc.altered": 2, "cdc.dropped": 3, "cdc.recreated": 1}
    found = []
    for row in expected(twin, twin / "cdc_raw").rows:
        table = f"{row.data['keyspace']}.{row.data['table']}"
        of_batch = table == "cdc.with_plain" and row.data["partition_key"] == {"id": 70}
        if of_batch or first_life.get(table, 0) > 0:
            first_life[table] = first_life.get(table, 0) - 1
            found.append(_identity(row.text))
    return sorted(found)


def _identity(line: str) -> str:
    """What two recordings of the same statement share: no time, place or generated id, no order within a batch."""
    row = dict(ordered(line).items)
    columns = dict(row["columns"].items)
    if "c" in columns:  # a list: its keys are times
        replaced, put = columns["c"].items
        columns["c"] = (replaced, [element for _, element in put[1]])
    key = dict(row["partition_key"].items)
    clustering = dict(row["clustering"].items) if row["clustering"] else None
    return repr((row["table"], row["op"], key, clustering, row["is_static"], columns))


UNDEFINED = [Place("50-cap", number) for number in range(4, 10)]
UNDEFINED += [Place("50-nonblocking", number) for number in range(5, 13)]


@pytest.mark.parametrize("place", UNDEFINED, ids=str)
def test_folders_that_lost_their_definitions_read_with_a_schema_file(
    place: Place, sets_root: Path, fresh_folder: FreshFolder
) -> None:
    """The segment with the CREATE statements is gone there: `schema.cql` gives all rows."""
    folder = fresh_folder(place)
    set_dir = sets_root / place.set
    want = expected(set_dir, folder, base=True)
    assert want.exit_code == 0
    assert want.rows
    check(want, follow(folder, sets_root, place, "--schema", str(set_dir / "schema.cql")), place, sets_root)


@pytest.mark.parametrize("place", [Place("50-lz4"), Place("40-aes"), Place("50-crash-gap", 3)], ids=str)
def test_a_process_of_its_own_prints_the_same(place: Place, sets_root: Path, fresh_folder: FreshFolder) -> None:
    folder = fresh_folder(place)
    want = expected(sets_root / place.set, folder)
    check(want, follow(folder, sets_root, place, process=True), place, sets_root)


def test_a_torn_marker_is_told(sets_root: Path, fresh_folder: FreshFolder) -> None:
    place = Place("50-torn")
    result = follow(fresh_folder(place), sets_root, place, "--stopped")
    assert result.code == 0
    (notice,) = [line for line in result.err.splitlines() if "419981" in line]
    assert "1795258981170" in notice


def test_without_the_key_it_says_so(sets_root: Path, fresh_folder: FreshFolder) -> None:
    result = run_cli(["follow", fresh_folder("50-aes"), "--once", "--output", "json"])
    assert (result.code, result.out) == (3, "")
    assert "--keystore" in result.err
