"""What is made of equal things is made once, and only the last few are kept."""

from __future__ import annotations

from tailer.scan.latest import LATEST_MAX, Latest


def test_equal_keys_share_what_was_made_of_one() -> None:
    made: list[tuple[int, ...]] = []

    def make(key: tuple[int, ...]) -> list[int]:
        made.append(key)
        return list(key)

    latest = Latest(make)
    first = latest.of((1, 2))
    assert latest.of((*[1], 2)) is first
    assert latest.of((3,)) == [3]
    assert made == [(1, 2), (3,)]


def test_the_oldest_goes_first() -> None:
    latest = Latest(lambda key: [key])
    kept = [latest.of(key) for key in range(LATEST_MAX + 1)]
    assert latest.of(1) is kept[1]
    assert latest.of(LATEST_MAX) is kept[LATEST_MAX]
    assert latest.of(0) is not kept[0]
    assert latest.of(1) is not kept[1]
