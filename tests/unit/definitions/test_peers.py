"""A node that lost schema changes takes them from the logs of the nodes that are followed with it (A21)."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tailer.definitions import peers
from tailer.definitions.history import DefinitionHistory
from tailer.definitions.outside import OutsideSources
from tailer.definitions.peers import Peers
from tailer.options.tail import TailOptions
from tailer.position import Position
from tailer.state.folder_journal import FolderJournal
from tailer.tail.node_log import node_log
from tailer.tail.open import tail_parts
from tailer.tail.tail import Tail
from tests.helpers.cli import Result, run_cli
from tests.helpers.log_writer import (
    TS,
    Cell,
    Column,
    Liveness,
    LogFolder,
    Mutation,
    Row,
    Table,
    Update,
    add_column,
    completed,
    create_table,
    drop_column,
    drop_table,
    encode_mutation,
    i32,
    segment_of,
    simple_table,
)

TABLE = simple_table("ks", "t")
W = Column("w", "regular", "int")
WITH_W = replace(TABLE, columns=(*TABLE.columns, W))
AGAIN = Column("w", "regular", "text")
WITH_AGAIN = replace(TABLE, columns=(*TABLE.columns, AGAIN))
N1, N2 = 1_700_000_000_001, 1_700_000_500_001


def row(table: Table, pk: int, values: dict[str, bytes], ts: int) -> Mutation:
    cells = tuple((name, Cell(value, ts, like_row=1)) for name, value in sorted(values.items()))
    return (Update(table, i32(pk), (Row((b"a",), Liveness(ts), None, cells),)),)


def log(path: Path, *segments: tuple[int, list[Mutation]]) -> Path:
    """A log with each of these segments finished."""
    folder = LogFolder(path)
    for id, mutations in segments:
        writer = segment_of(id, [[encode_mutation(mutation)] for mutation in mutations])
        folder.put(writer, completed(writer))
    return path


def follow(n1: Path, n2: Path, *more: str) -> Result:
    return run_cli(["follow", f"n1={n1},n2={n2}", "--once", "--stopped", "--consumer", "c", *more])


ALTERED = [
    create_table(TABLE, TS),
    row(TABLE, 1, {"v": i32(1)}, TS + 10),
    add_column(WITH_W, W, TS + 100),
    row(WITH_W, 2, {"v": i32(2), "w": i32(2)}, TS + 110),
]


@pytest.mark.parametrize("first", ["n1", "n2"])
def test_a_node_that_was_down_during_an_alter_takes_it_from_another_log(tmp_path: Path, first: str) -> None:
    n1 = log(tmp_path / "n1", (N1, ALTERED))
    n2 = log(
        tmp_path / "n2",
        (N1, [create_table(TABLE, TS), row(TABLE, 1, {"v": i32(1)}, TS + 10)]),
        (N2, [row(WITH_W, 3, {"v": i32(3), "w": i32(7)}, TS + 200)]),
    )
    if first == "n2":
        # Its own run meets the row before any consumer has read the other log.
        n1, n2 = n2, n1
    result = follow(n1, n2)
    assert result.code == 0, result.err
    assert len(result.lines) == 4
    texts = [line for line in result.lines if '"pk":3' in line.replace(" ", "")]
    assert ['"w"' in text and "7" in text for text in texts] == [True]


def test_a_column_that_was_added_again_with_another_type_is_read_by_that_type(tmp_path: Path) -> None:
    """Without a word from the other log the bytes would be read by the old type."""
    n1 = log(
        tmp_path / "n1",
        (N1, [*ALTERED, drop_column(TABLE, W, TS + 200), add_column(WITH_AGAIN, AGAIN, TS + 300)]),
    )
    own = ALTERED
    n2 = log(tmp_path / "n2", (N1, own), (N2, [row(WITH_AGAIN, 3, {"v": i32(3), "w": b"four"}, TS + 400)]))
    result = follow(n1, n2)
    assert result.code == 0, result.err
    (text,) = [line for line in result.lines if '"pk":3' in line.replace(" ", "")]
    assert "four" in text
    again = run_cli(["follow", str(n2), "--once", "--stopped", "--node", "n2", "--consumer", "d"])
    assert "four" in again.out, "what the other log showed is on record: nobody needs to ask again"


def test_what_the_own_log_shows_further_on_counts_from_there(tmp_path: Path) -> None:
    """The gap has lost nothing: rows between it and the DROP have the column."""
    changed = [*ALTERED, drop_column(TABLE, W, TS + 300)]
    n1 = log(tmp_path / "n1", (N1, changed))
    n2 = log(
        tmp_path / "n2",
        (N1, ALTERED),
        (N2, [row(WITH_W, 3, {"v": i32(3), "w": i32(7)}, TS + 200)]),
        (N2 + 1, [drop_column(TABLE, W, TS + 300), row(TABLE, 4, {"v": i32(4)}, TS + 310)]),
    )
    result = follow(n1, n2)
    assert result.code == 0, result.err
    history = DefinitionHistory(FolderJournal(tmp_path / "n2.cdc_tail", writable=False).read())
    id = TABLE.id.hex
    before, behind = (history.as_of(Position(segment, 1000))[id] for segment in (N2, N2 + 1))
    assert [each.dropped for each in before.columns if each.name == "w"] == [False]
    assert [each.dropped for each in behind.columns if each.name == "w"] == [True]


def test_logs_of_another_cluster_say_nothing(tmp_path: Path) -> None:
    other = replace(WITH_W, id=simple_table("ks", "t", 9).id)
    n1 = log(tmp_path / "n1", (N1, [create_table(other, TS + 150), row(other, 1, {"v": i32(1)}, TS + 160)]))
    n2 = log(
        tmp_path / "n2",
        (N1, [create_table(TABLE, TS), row(TABLE, 1, {"v": i32(1)}, TS + 10)]),
        (N2, [row(TABLE, 3, {"v": i32(3)}, TS + 200), row(WITH_W, 4, {"v": i32(3), "w": i32(7)}, TS + 201)]),
    )
    result = follow(n1, n2)
    assert result.code == 3
    assert sum('"pk":3' in line.replace(" ", "") for line in result.lines) == 1


def test_a_node_whose_log_shows_other_tables_is_of_the_same_cluster(tmp_path: Path) -> None:
    """What this node knows is from a file; the other node's log shows a CREATE of another table alone."""
    other = simple_table("ks", "u", 3)
    n1 = log(tmp_path / "n1", (N1, [create_table(other, TS)]))
    n2 = log(tmp_path / "n2", (N2, [row(TABLE, 3, {"v": i32(3)}, TS + 200), row(other, 4, {"v": i32(4)}, TS + 201)]))
    file = tmp_path / "schema.cql"
    file.write_text(
        f"CREATE TABLE ks.t (pk int, ck text, v int, PRIMARY KEY (pk, ck)) WITH id = {TABLE.id} AND cdc = true;\n"
    )
    result = follow(n1, n2, "--schema", str(file), "--output", "json")
    assert (result.code, sorted(json.loads(line)["table"] for line in result.lines)) == (0, ["t", "u"]), result.err


def test_a_node_that_could_not_be_asked_at_a_gap_is_asked_again(tmp_path: Path) -> None:
    """Every ten seconds until it can be, and for a minute behind the gap: its disk may be late."""
    n1 = log(tmp_path / "n1", (N1, ALTERED))
    n2 = log(tmp_path / "n2", (N1, ALTERED[:2]), (N2, [row(TABLE, 3, {"v": i32(3)}, TS + 200)]))
    n1.rename(tmp_path / "away")
    options, now = TailOptions(), [0.0]
    asked = Peers([("n1", lambda: node_log(n1, TailOptions(node="n1")))], options.keys())
    with Tail(tail_parts(node_log(n2, options), options, writes=False)) as tail:
        known = tail.parts.definitions
        outside = OutsideSources(options, known, lambda: now[0], asked)
        while (step := tail.step()).moved:
            tail.advance(step)

        def columns() -> list[str]:
            return [each.name for each in known.history.newest[TABLE.id.hex].columns]

        outside.behind_gap(Position(N2, 0), {})
        assert outside.unsettled
        (notice,) = outside.take_notices()
        assert "node n1 could not be asked" in notice
        now[0] = 100.0
        outside.ask_behind_gap(Position(N2, 0), {})
        assert (outside.unsettled, outside.take_notices()) == (True, []), "what was said is not said again"
        (tmp_path / "away").rename(n1)
        now[0] = 105.0
        outside.ask_behind_gap(Position(N2, 50), {})
        assert columns() == ["pk", "ck", "v"], "not before ten seconds have passed"
        now[0] = 110.0
        outside.ask_behind_gap(Position(N2, 50), {})
        assert not outside.unsettled
        assert columns() == ["pk", "ck", "v", "w"]


def test_a_read_that_fails_half_way_loses_nothing_of_what_it_had_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first segment was read when the second one could not be: the next request reads both again."""
    n1 = log(tmp_path / "n1", (N1, ALTERED), (N2, [row(WITH_W, 4, {"v": i32(4)}, TS + 190)]))
    n2 = log(tmp_path / "n2", (N1, ALTERED[:2]), (N2, [row(TABLE, 3, {"v": i32(3)}, TS + 200)]))
    options = TailOptions()
    asked = Peers([("n1", lambda: node_log(n1, TailOptions(node="n1")))], options.keys())
    opens = peers.open_segment

    def fails_once(source: Any, name: Any, keys: Any) -> Any:
        if name.segment == N2:
            monkeypatch.setattr(peers, "open_segment", opens)
            raise OSError(errno.EIO, "Input/output error")
        return opens(source, name, keys)

    monkeypatch.setattr(peers, "open_segment", fails_once)
    with Tail(tail_parts(node_log(n2, options), options, writes=False)) as tail:
        while (step := tail.step()).moved:
            tail.advance(step)
        known, at = tail.parts.definitions, Position(N2, 0)
        assert asked.additions(known, at) == []
        assert asked.unreachable
        (found,) = asked.additions(known, at)
    assert not asked.unreachable
    assert any(delta.clustering == ("t", "w") for delta in found.deltas)


def test_what_was_made_after_the_gap_was_met_is_not_in_it(tmp_path: Path) -> None:
    """This log shows it later, or has another gap: rows until then are read by the definition before it. For an entry
    that cannot be decoded it counts all the same."""
    n1 = log(tmp_path / "n1", (N1, ALTERED))
    n2 = log(tmp_path / "n2", (N1, ALTERED[:2]), (N2, [row(TABLE, 3, {"v": i32(3)}, TS + 90)]))
    options, now = TailOptions(), [0.0]
    asked = Peers([("n1", lambda: node_log(n1, TailOptions(node="n1")))], options.keys())
    with Tail(tail_parts(node_log(n2, options), options, writes=False)) as tail:
        known = tail.parts.definitions
        outside = OutsideSources(options, known, lambda: now[0], asked, lambda: (TS + 50) / 1e6)
        while (step := tail.step()).moved:
            tail.advance(step)

        def columns() -> list[str]:
            return [each.name for each in known.history.newest[TABLE.id.hex].columns]

        outside.behind_gap(Position(N2, 0), {})
        now[0] = 20.0
        outside.ask_behind_gap(Position(N2, 50), {})
        assert columns() == ["pk", "ck", "v"]
        assert outside.ask_again(Position(N2, 60))
        assert columns() == ["pk", "ck", "v", "w"]


def test_for_an_unknown_table_nothing_of_other_tables_is_taken(tmp_path: Path) -> None:
    other = simple_table("ks", "u", 3)
    n1 = log(tmp_path / "n1", (N1, [*ALTERED, create_table(other, TS + 300)]))
    n2 = log(tmp_path / "n2", (N1, ALTERED[:2]))
    options = TailOptions()
    asked = Peers([("n1", lambda: node_log(n1, TailOptions(node="n1")))], options.keys())
    with Tail(tail_parts(node_log(n2, options), options, writes=False)) as tail:
        while (step := tail.step()).moved:
            tail.advance(step)
        known = tail.parts.definitions
        outside = OutsideSources(options, known, lambda: 0.0, asked)
        assert outside.ask_for_table(other.id.hex, Position(N1, 5000))
        newest = known.history.newest
    assert [each.name for each in newest[TABLE.id.hex].columns] == ["pk", "ck", "v"]
    assert newest[other.id.hex].name == "ks.u"


@pytest.mark.parametrize("images", [[], ["--image", "after"]])
def test_a_table_that_was_created_again_meanwhile_is_the_earlier_one_before_this_log_shows_its_drop(
    images: list[str], tmp_path: Path
) -> None:
    """The second CREATE and its DROP are in a segment of n2 that is gone, or not yet on its disk."""
    again = replace(TABLE, columns=(Column("pk", "partition_key", "text"), Column("x", "regular", "text")))
    lives = [create_table(TABLE, TS), drop_table(TABLE, TS + 200), create_table(again, TS + 300)]
    n1 = log(tmp_path / "n1", (N1, [*lives, drop_table(again, TS + 400)]))
    n2 = log(
        tmp_path / "n2",
        (N1, [create_table(TABLE, TS), row(TABLE, 1, {"v": i32(1)}, TS + 10)]),
        (N2, [row(TABLE, 3, {"v": i32(3)}, TS + 100)]),
        (N2 + 1, [drop_table(TABLE, TS + 200)]),
    )
    result = follow(n1, n2, *images, "--output", "json")
    assert result.code == 0, result.err
    if not images:
        # Of images there may be none: where n1 is read first, its DROP is newer than these rows.
        rows = [json.loads(line) for line in result.lines]
        assert [each["partition_key"] for each in rows if each["op"] == "insert"] == [{"pk": 1}, {"pk": 3}], rows
