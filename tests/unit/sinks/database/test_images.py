"""Images that are appended to a table, as a user does it: each once, in the columns of the terminal, of one state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tailer.sinks.image_node import apart, image_node
from tests.helpers.cli import Result, run_cli
from tests.unit.sinks.database.followed import log, words
from tests.unit.sinks.database.targets import Deltalake, Sqlite, Target

JSON = ("partition_key", "clustering", "before", "after")


def follow(folder: Path, target: Target, *more: str, **chosen: Any) -> Result:
    return run_cli([*words(folder, target, **chosen), "--image", "both", *more])


def rows(target: Target, table: str = "changes") -> list[dict[str, Any]]:
    """The images in a table, as their JSON lines have them."""
    names = ("op", *JSON, "changed", "complete", "node", "is_static", "image_id")
    if isinstance(target, Deltalake):
        found = [tuple(row[name] for name in names) for row in DeltaTable(target.folder).to_pyarrow_table().to_pylist()]
    else:
        texts = (*JSON, "changed") if target.kind == "postgresql" else JSON
        asked = ", ".join(f'CAST("{name}" AS {target.quiet})' if name in texts else f'"{name}"' for name in names)
        found = target.ask(f"SELECT {asked} FROM {table}")
    made = [dict(zip(names, row, strict=True)) for row in found]
    for row in made:
        row |= {name: json.loads(row[name]) for name in JSON if row[name] is not None}
        row["changed"] = json.loads(row["changed"]) if isinstance(row["changed"], str) else row["changed"]
        row["complete"], row["is_static"] = bool(row["complete"]), bool(row["is_static"])
    return sorted(made, key=lambda row: row["partition_key"]["pk"])


def test_the_rows_are_those_of_output_json(any_target: Target, tmp_path: Path) -> None:
    folder = log(tmp_path)
    printed = run_cli(["follow", str(folder), "--once", "--stopped", "--image", "both", "--output", "json"])
    expected = [json.loads(line) for line in printed.lines]
    assert len(expected) == 20
    for _ in range(2):
        ran = follow(folder, any_target)
        assert (ran.code, ran.err) == (0, "")
        found = rows(any_target)
        assert len({row.pop("image_id") for row in found}) == 20
        assert found == [
            {name: line[name] if name != "node" else "n1" for name in found[0]}
            for line in sorted(expected, key=lambda line: line["partition_key"]["pk"])
        ]
    assert json.loads(any_target.position() or "") == {"images": 1, "v": 1}


def test_images_of_another_state_are_refused(any_target: Target, tmp_path: Path) -> None:
    folder = log(tmp_path)
    assert follow(folder, any_target).code == 0
    refused = follow(folder, any_target, consumer="d")
    assert (refused.code, "do not go on from" in refused.err) == (6, True), refused.err
    assert len(rows(any_target)) == 20


def test_processes_that_share_tokens_share_a_table(any_target: Target, tmp_path: Path) -> None:
    folder = log(tmp_path)
    for consumer, tokens in (("low", "-9223372036854775808..0"), ("high", "1..9223372036854775807")):
        ran = follow(folder, any_target, "--tokens", tokens, consumer=consumer)
        assert ran.code == 0, ran.err
    assert sorted(row["after"]["v"] for row in rows(any_target)) == list(range(1, 21))
    refused = follow(folder, any_target, "--tokens", "-5..5", consumer="both")
    assert (refused.code, "do not go on from" in refused.err) == (6, True), refused.err


def test_images_and_rows_are_not_in_one_table(target: Target, tmp_path: Path) -> None:
    folder = log(tmp_path)
    assert run_cli(words(folder, target)).code == 0
    refused = follow(folder, target, consumer="d")
    assert (refused.code, "do not go on from" in refused.err) == (6, True), refused.err


def test_an_image_that_is_refused_ends_the_run(tmp_path: Path) -> None:
    folder, target = log(tmp_path, segments=1), Sqlite(tmp_path)
    assert follow(folder, target).code == 0
    log(tmp_path)
    target.run(
        "CREATE TRIGGER no BEFORE INSERT ON changes WHEN json_extract(NEW.after, '$.v') = 7 "
        "BEGIN SELECT RAISE(ABORT, 'not seven'); END"
    )
    refused = follow(folder, target, "--on-error", "quarantine")
    assert (refused.code, "not seven" in refused.err) == (7, True), refused.err
    assert len(rows(target)) == 5
    target.run("DROP TRIGGER no")
    assert follow(folder, target).code == 0
    assert len(rows(target)) == 20


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ((0, 5), (6, 9), True),
        ((-9, -7), (-20, -10), True),
        ((0, 5), (5, 9), False),
        ((0, 9), (3, 4), False),
        (None, (3, 4), False),
        (None, None, False),
    ],
)
def test_ranges_of_tokens_that_are_apart(one: tuple[int, int] | None, other: tuple[int, int], told: bool) -> None:
    assert apart(image_node(one), image_node(other)) == told
    assert apart(image_node(other), image_node(one)) == told
    assert not apart(image_node(one), "n1")
