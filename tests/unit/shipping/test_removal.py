"""Which data files may go: what every registered shipper has sent, and never the newest."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tailer.errors import RefusedError
from tailer.shipping.removal import Keeping, removable, remove_sent, sent_by_all
from tailer.shipping.shippers import Sent, Shipper, ShipperFile
from tailer.sinks.files.series import Series
from tests.helpers.data_files import indexes, place, stands, write_files
from tests.retention.killed import Killed, killed_at


def shipper(name: str, **upto: int) -> ShipperFile:
    return ShipperFile(name, "target", {node: Sent(0, number) for node, number in upto.items()}, 0.0, "host")


def test_the_slowest_shipper_counts() -> None:
    assert sent_by_all([], "n1") is None
    assert sent_by_all([shipper("a", n1=7), shipper("b", n1=5)], "n1") == 5
    # Who has registered and not begun with a node needs all of it.
    assert sent_by_all([shipper("a", n1=7), shipper("b", n2=5)], "n1") is None


@pytest.mark.parametrize(
    ("upto", "keep", "going"),
    [(None, 1, []), (0, 1, []), (2, 1, [1, 2]), (5, 1, [1, 2, 3, 4]), (9, 1, [1, 2, 3, 4]), (5, 3, [1, 2]), (5, 9, [])],
)
def test_what_may_go(upto: int | None, keep: int, going: list[int]) -> None:
    assert removable([1, 2, 3, 4, 5], upto, Keeping(keep)) == going


def registered(folder: Path, **sent: int) -> None:
    for name, upto in sent.items():
        held = Shipper(folder, name, "target")
        held.save("n1", Sent(0, upto))
        held.close()


def numbers(folder: Path) -> list[int]:
    return [index["number"] for index in indexes(folder / "n1")]


def test_files_that_all_have_sent_are_removed(tmp_path: Path) -> None:
    write_files(tmp_path, [1], [2], [3], [4])
    series = Series(tmp_path / "n1")
    assert remove_sent(series, tmp_path, Keeping()) == 0
    registered(tmp_path, fast=4, slow=2)
    assert remove_sent(series, tmp_path, Keeping()) == 2
    assert numbers(tmp_path) == [3, 4]
    assert len(list((tmp_path / "n1").glob("*.zst"))) == 2
    registered(tmp_path, slow=4)
    assert remove_sent(series, tmp_path, Keeping()) == 1
    assert numbers(tmp_path) == [4]
    assert stands(tmp_path) == place(4)


def test_young_files_stay_and_numbers_keep_no_gaps(tmp_path: Path) -> None:
    write_files(tmp_path, [1], [2], [3])
    registered(tmp_path, a=3)
    series, now = Series(tmp_path / "n1"), time.time()
    assert remove_sent(series, tmp_path, Keeping(seconds=60.0), lambda: now + 50) == 0
    assert remove_sent(series, tmp_path, Keeping(2, 60.0), lambda: now + 70) == 1
    assert numbers(tmp_path) == [2, 3]


def test_a_shipper_that_is_not_understood_is_nobody_to_pass_over(tmp_path: Path) -> None:
    write_files(tmp_path, [1], [2])
    registered(tmp_path, a=2, b=2)
    path = tmp_path / ".cdc_tail" / "consumers" / "b.json"
    path.write_text(path.read_text().replace('"v": 1', '"v": 2'))
    with pytest.raises(RefusedError, match="version of the shipper's file"):
        remove_sent(Series(tmp_path / "n1"), tmp_path, Keeping())
    path.write_text("{")
    with pytest.raises(RefusedError, match="--consumer b --drop"):
        remove_sent(Series(tmp_path / "n1"), tmp_path, Keeping())
    assert numbers(tmp_path) == [1, 2]


def test_killed_at_each_step_of_a_removal(tmp_path: Path) -> None:
    """Whoever finds an index finds its file; what is left of the killed one the next takes away."""
    for number in range(20):
        folder = tmp_path / str(number)
        write_files(folder, [1], [2], [3], [4])
        registered(folder, a=3)
        series = Series(folder / "n1")
        try:
            with killed_at(number):
                remove_sent(series, folder, Keeping())
        except Killed:
            assert numbers(folder)[-1] == 4
        else:
            break
        write_files(folder, [5])
        registered(folder, a=4)
        remove_sent(series, folder, Keeping())
        assert numbers(folder) == [5]
        assert len(list((folder / "n1").glob("*.zst"))) == 1
    assert number == 7
