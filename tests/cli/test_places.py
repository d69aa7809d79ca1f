"""Places that users name and that are none: refused before anything is read, and no consumer begins at one or is moved.

Taken as it is, a place behind the end of a segment would pass by what is still to be written there, and say nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.cli import Result, run_cli
from tests.helpers.log_writer import LogFolder, one_row_log, one_row_segment, simple_table

ONE = 1_700_000_000_000
TABLE = simple_table("ks", "t")


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    """A finished segment, and one that is written."""
    return one_row_log(tmp_path / "cdc_raw", TABLE, ONE, 2)


def follow(folder: LogFolder, *options: str) -> Result:
    return run_cli(["follow", folder.path, "--once", "--output", "json", *options])


def offset(**changed: object) -> str:
    return json.dumps({"j": 0, "s": ONE, "o": 0, "done": False, "p": [], **changed})


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("by", ["place", "offset"])
def test_behind_the_end_of_a_segment(folder: LogFolder, number: int, by: str) -> None:
    end = one_row_segment(TABLE, ONE, number).end

    def named(at: int) -> str:
        return f"{ONE + number}:{at}" if by == "place" else offset(s=ONE + number, o=at)

    assert follow(folder, "--consumer", "c").code == 0
    for at in (end + 1, 10**15):
        for ran in (
            follow(folder, "--from", named(at)),
            follow(folder, "--from", named(at), "--accept-loss"),
            follow(folder, "--from", named(at), "--consumer", "new"),
            follow(folder, "--from", named(at), "--consumer", "new"),
            run_cli(["consumers", folder.path, "seek", "c", named(at)]),
        ):
            assert (ran.code, ran.out) == (2, "")
            assert f"behind the end of its segment at {ONE + number}:{at}: expected {end} at most" in ran.err
    assert [each["consumer"] for each in map(json.loads, run_cli(["consumers", folder.path, "--output", "json"]).lines)
            ] == ["c"]  # fmt: skip
    rest = follow(folder, "--from", named(end))
    assert (rest.code, len(rest.lines)) == (0, 1 - number)


@pytest.mark.parametrize(
    "wrong",
    [{"j": -1}, {"s": -1}, {"o": -1}, {"s": 10**23}, {"o": 2**63}, {"p": [[-1, 0]]}, {"p": [[ONE, -1]]}],
    ids=str,
)
def test_numbers_that_no_offset_has(folder: LogFolder, wrong: dict[str, object]) -> None:
    assert follow(folder, "--consumer", "c").code == 0
    for ran in (
        follow(folder, "--from", offset(**wrong)),
        follow(folder, "--until", offset(**wrong)),
        run_cli(["consumers", folder.path, "seek", "c", offset(**wrong)]),
        run_cli(["schema", folder.path, "--at", offset(**wrong)]),
    ):
        assert (ran.code, ran.out) == (2, "")
        assert "Expected numbers from 0 to 9223372036854775807" in ran.err
