"""Where rows come from and which replica is the first, of a log that is followed: options, ring on record, replays."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import tailer
from tailer.errors import SystemFailedError, UsageError
from tailer.options.tail import TailOptions, of_node
from tailer.options.to_spark import parse_options
from tailer.planning.batch_tasks import BatchTasks, RowOptions
from tailer.schema.extras import Extras, Origin
from tailer.schema.ring import MURMUR3, TOKEN_MAX, Host
from tailer.schema.server_place import ServerPlace
from tailer.schema.typed import META
from tailer.segments.segment import SegmentFile
from tailer.shipping.file_rows import row_batches
from tailer.spark.envelope import _MORE, _parts
from tailer.spark.errors import CdcTailError
from tailer.spark.executor import JobPacker, read_job
from tailer.spark.source import CdcTailSource, generic_schema
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import RingRecord
from tailer.state.log_folder import state_folder
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import (
    LogFolder,
    completed,
    create_payload,
    insert_payload,
    live,
    segment_of,
    simple_table,
)
from tests.helpers.served import served
from tests.helpers.tails import open_tail

ONE = 1_700_000_000_000
TABLE = simple_table("ks", "t")
KEYS = range(12)
ORIGIN = Origin("shop", "dc1", "r1")
SIMPLE = {"ks": {"class": "SimpleStrategy", "replication_factor": "2"}}


def place(*own: int, other: int = TOKEN_MAX, partitioner: str = MURMUR3) -> ServerPlace:
    """A node with these tokens, on a ring with another one's."""
    return ServerPlace(ORIGIN, partitioner, Host("me", "dc1", own), (Host("you", "dc1", (other,)),), SIMPLE)


class Asked:
    """The server's answers, and how often it was asked."""

    def __init__(self, answer: ServerPlace) -> None:
        self.answer: ServerPlace | Exception = answer
        self.times = 0

    def __call__(self, server: object) -> ServerPlace:
        self.times += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Tokens up to 0 are this node's."""
    answers = Asked(place(0))
    monkeypatch.setattr("tailer.definitions.placement.read_place", answers)
    monkeypatch.setattr("tailer.definitions.outside.read_server", lambda server: [])
    return answers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made(tmp_path / "cdc_raw")


def made(path: Path) -> Path:
    log = LogFolder(path)
    first = segment_of(ONE, [[create_payload(TABLE)], *([insert_payload(TABLE, key, "a", 10)] for key in KEYS)])
    second = segment_of(ONE + 1, [[insert_payload(TABLE, key, "b", 11)] for key in KEYS])
    log.put(first, completed(first))
    log.put(second, live(second))
    return path


def rows(folder: Path, **options: Any) -> list[dict[str, Any]]:
    with tailer.open(folder, **options) as log:
        return [row for batch in log.read() for row in batch.to_pylist()]


def test_without_them_rows_are_as_they_were(folder: Path, asked: Asked) -> None:
    assert len(rows(folder, server="n1")) == 2 * len(KEYS)
    assert asked.times == 0


def test_rows_say_where_they_come_from(folder: Path, asked: Asked) -> None:
    plain = rows(folder)
    found = rows(folder, server="n1", with_origin=True)
    assert [row | {"cluster": "shop", "dc": "dc1", "rack": "r1"} for row in plain] == found
    asked.answer = SystemFailedError("nobody asks")
    by_hand = rows(folder, with_origin=True, cluster="c", dc="d", rack="r")
    assert {(row["cluster"], row["dc"], row["rack"]) for row in by_hand} == {("c", "d", "r")}
    asked.answer = place(0)
    (mixed,) = {(row["cluster"], row["rack"]) for row in rows(folder, server="n1", with_origin=True, rack="mine")}
    assert mixed == ("shop", "mine")


def test_rows_of_the_typed_form(folder: Path, asked: Asked) -> None:
    found = rows(folder, server="n1", table="ks.t", with_origin=True, with_primary=True)
    assert list(found[0])[-4:] == ["_cluster", "_dc", "_rack", "_primary"]
    assert {row["_primary"] for row in found} == {True, False}
    assert all(row["_primary"] == (row["_token"] <= 0) for row in found)
    with pytest.raises(UsageError, match="has the name of a column of the change itself"):
        rows(folder, server="n1", table="ks.t", meta_prefix="k", with_primary=True, state=_named(folder, "kprimary"))


def _named(folder: Path, column: str) -> Path:
    """A state whose journal says that the table has a column of that name."""
    from tailer.position import Position
    from tailer.schema.rows import SchemaDelta
    from tailer.state.journal_records import SchemaRecord

    state = folder.parent / "state"
    state.mkdir()
    cells = {"kind": (20, "regular"), "position": (20, -1), "type": (20, "int"), "clustering_order": (20, "none")}
    cells["column_name_bytes"] = (20, column.encode().hex())
    delta = SchemaDelta("columns", "ks", ("t", column), cells, 20)  # type: ignore[arg-type]
    FolderJournal(state).append([SchemaRecord(at=Position(ONE, 0), source="log", deltas=(delta,))])
    return state


def test_only_the_first_replicas_rows(folder: Path, asked: Asked) -> None:
    every = rows(folder, server="n1", with_primary=True)
    mine = rows(folder, server="n1", replicas="primary")
    yours = [row for row in every if not row["primary"]]
    assert 0 < len(mine) < len(every)
    assert [row["event_id"] for row in mine] == [row["event_id"] for row in every if row["primary"]]
    assert all(row["token"] > 0 for row in yours)
    # The other node has exactly the rest.
    asked.answer = ServerPlace(ORIGIN, MURMUR3, Host("you", "dc1", (TOKEN_MAX,)), (Host("me", "dc1", (0,)),), SIMPLE)
    assert [row["event_id"] for row in rows(folder, server="n2", replicas="primary")] == [
        row["event_id"] for row in yours
    ]


def test_what_cannot_be_is_refused(folder: Path, asked: Asked) -> None:
    for options, message in (
        ({"with_primary": True}, "only a server can tell"),
        ({"replicas": "primary"}, "only a server can tell"),
        ({"rack": "r"}, "is for rows that say where they come from"),
        ({"with_origin": True, "dc": "d"}, "nothing tells the cluster and the rack"),
    ):
        with pytest.raises(UsageError, match=message):
            rows(folder, **options)
    asked.answer = place(0, partitioner="org.apache.cassandra.dht.ByteOrderedPartitioner")
    with pytest.raises(UsageError, match=r"Murmur3.*ByteOrderedPartitioner"):
        rows(folder, server="n1", with_primary=True)
    key = folder.parent / "key"
    key.write_bytes(b"k" * 32)
    key.chmod(0o600)
    asked.answer = place(0)
    with pytest.raises(UsageError, match="hides by which token"):
        rows(folder, server="n1", replicas="primary", mask=["ks.t.pk=hash"], mask_key=key)


def test_each_node_has_its_own_server(asked: Asked) -> None:
    options = TailOptions(node="b", server="a=h1,b=h2:9043", with_origin=True, rack="a=r1,b=r2", dc="dc1")
    assert (of_node(options).server, of_node(options).rack, of_node(options).dc) == ("h2:9043", "r2", "dc1")
    with pytest.raises(UsageError, match="a value for node c too"):
        of_node(replace(options, node="c"))
    shared = {"path": "a=/x,b=/y", "server": "h1", "withOrigin": "true"}
    with pytest.raises(UsageError, match="tells where one of them stands"):
        parse_options(shared)
    told = run_cli(["follow", "a=/x,b=/y", "--to", "files:/z", "--consumer", "c", "--server", "h1", "--with-primary"])
    assert (told.code, "tells where one of them stands" in told.err) == (2, True)
    by_hand = parse_options({**shared, "cluster": "c", "dc": "d", "rack": "a=r1,b=r2"})
    assert [of_node(by_hand.of(name, once=True)).rack for name in "ab"] == ["r1", "r2"]
    several = parse_options({"path": "a=/x,b=/y", "server": "a=h1,b=h2", "withPrimary": "true"})
    assert [of_node(several.of(name, once=True)).server for name, _ in several.places] == ["h1", "h2"]


class TestRing:
    """Each answer that differs is a record, and counts from there."""

    OPTIONS = TailOptions(consumer="c", server="n1", replicas="primary", with_primary=True)

    def batches(self, folder: Path) -> BatchTasks:
        """Of a process that knows nothing but the journal and the files."""

        def open_segment(segment: int) -> SegmentFile:
            return SegmentFile(next(folder.glob(f"CommitLog-*-{segment}.log")), segment)

        extras = Extras(primary=True, replicas="primary")
        return BatchTasks(
            "local", FolderJournal(state_folder(folder)), "c", open_segment, today=RowOptions(extras=extras)
        )

    def test_a_replay_goes_by_the_ring_of_its_offset(self, folder: Path, asked: Asked) -> None:
        now = [0.0]
        from tailer.tail.tail import Tail
        from tests.helpers.tails import tail_parts

        with Tail(tail_parts(folder, self.OPTIONS, clock=lambda: now[0])) as tail:
            begin = tail.offset
            first = tail.step(1)
            told = [row for task in first.tasks for batch in tail.read(task) for row in batch.column("event_id")]
            tail.advance(first)
            # The ring changes: this node has all tokens but a few now.
            asked.answer = place(TOKEN_MAX - 1)
            now[0] = 61.0
            second = tail.step()
            assert any("first replica of other rows" in notice for notice in second.notices)
            more = [row for task in second.tasks for batch in tail.read(task) for row in batch.column("event_id")]
            tail.advance(second)
        rings = [r for r in FolderJournal(state_folder(folder)).read() if isinstance(r, RingRecord)]
        assert len(rings) == 2
        assert first.offset.j < rings[1].n <= second.offset.j
        batches, found = self.batches(folder), []
        for start, end in ((begin, first.offset), (first.offset, second.offset)):
            found.append([row["event_id"] for task in batches.tasks(start, end) for row in jobs_rows(folder, task)])
        assert found == [told, more]
        assert len(told) < len(KEYS) < len(more)

    def test_the_same_answer_is_no_record(self, folder: Path, asked: Asked) -> None:
        for _ in range(3):
            with open_tail(folder, self.OPTIONS) as tail:
                tail.step()
        assert sum(isinstance(r, RingRecord) for r in FolderJournal(state_folder(folder)).read()) == 1

    def test_a_server_that_is_away_changes_nothing(self, folder: Path, asked: Asked) -> None:
        now = [0.0]
        from tailer.tail.tail import Tail
        from tests.helpers.tails import tail_parts

        with Tail(tail_parts(folder, self.OPTIONS, clock=lambda: now[0])) as tail:
            asked.answer = SystemFailedError("gone")
            now[0] = 61.0
            step = tail.step()
            assert any("what it said last counts" in notice for notice in step.notices)
            assert sum(len(batch) for task in step.tasks for batch in tail.read(task)) == 2 * len(
                [key for key in rows(folder) if key["token"] <= 0 and key["segment"] == ONE]
            )


def jobs_rows(folder: Path, task: Any) -> list[dict[str, Any]]:
    """The rows of a task as an executor of Spark's gives them."""
    job = JobPacker().pack(task, folder, TailOptions())
    return [row for batch in read_job(job) for row in batch.to_pylist()]


class TestDoors:
    OPTIONS = ("--server", "n1", "--with-origin", "--with-primary")

    def test_the_terminal(self, folder: Path, asked: Asked) -> None:
        lines = run_cli(["follow", folder, "--once", "--output", "json", *self.OPTIONS]).lines
        assert {tuple(json.loads(line))[-4:] for line in lines} == {("cluster", "dc", "rack", "primary")}
        pretty = run_cli(["follow", folder, "--once", "--output", "pretty", *self.OPTIONS])
        assert pretty.out.count("ks.t") == len(lines) == 2 * len(KEYS)

    @pytest.mark.parametrize("typed", [(), ("--typed", "ks.t")])
    @pytest.mark.parametrize("format", ["rows", "arrow", "debezium", "debezium-cassandra"])
    def test_data_files(self, folder: Path, asked: Asked, format: str, typed: tuple[str, ...]) -> None:
        out = folder.parent / "out"
        to = ["--to", f"files:{out}", "--consumer", "c", "--format", format, *typed]
        result = run_cli(["follow", folder, "--once", *to, *self.OPTIONS])
        assert result.code == 0, result.err
        (file,) = tailer.data_files(out)
        prefix = "_" if typed else ""
        if format == "arrow":
            told = [row for batch in file.batches() for row in batch.to_pylist()]
        else:
            told = [json.loads(line) for line in file.lines()]
        if format.startswith("debezium"):
            told, prefix = [row["source"] for row in told], ""
        assert len(told) == 2 * len(KEYS)
        for row in told:
            assert [row[prefix + name] for name in ("cluster", "dc", "rack")] == ["shop", "dc1", "r1"]
        assert sum(row[f"{prefix}primary"] for row in told) == 2 * len(
            [row for row in rows(folder) if row["token"] <= 0 and row["segment"] == ONE]
        )

    @pytest.mark.parametrize("format", ["rows", "arrow"])
    def test_data_files_are_sent_on_with_them(self, folder: Path, asked: Asked, format: str) -> None:
        out = folder.parent / "out"
        to = ["--to", f"files:{out}", "--consumer", "c", "--format", format]
        assert run_cli(["follow", folder, "--once", *to, *self.OPTIONS]).code == 0
        (file,) = tailer.data_files(out)
        sent = b"".join(batch.json_lines() for batch in row_batches(file, "kafka"))
        assert sent.decode() == run_cli(["follow", folder, "--once", "--output", "json", *self.OPTIONS]).out

    def test_spark(self, folder: Path, asked: Asked) -> None:
        given = {
            "path": str(folder),
            "server": "n1",
            "withOrigin": "true",
            "withPrimary": "true",
            "replicas": "primary",
        }
        for typed, prefix in (({}, ""), ({"table": "ks.t"}, "_")):
            source = CdcTailSource({**given, **typed})
            schema = source.schema()
            wanted = [prefix + name for name in ("cluster", "dc", "rack", "primary")]
            assert schema.names[-4:] == wanted
            reader = source.reader(schema)
            batches = [batch for part in reader.partitions() for batch in reader.read(part)]
            assert all(batch.schema.names == schema.names for batch in batches)
            found = [row for batch in batches for row in batch.to_pylist()]
            assert 0 < len(found) < 2 * len(KEYS)
            assert {tuple(row[name] for name in wanted) for row in found} == {("shop", "dc1", "r1", True)}
        with pytest.raises(CdcTailError, match="the columns cannot be chosen"):
            CdcTailSource(given).reader(generic_schema())

    @pytest.mark.parametrize(
        "more", [(), ("cluster", "dc", "rack"), ("primary",), ("cluster", "dc", "rack", "primary")]
    )
    def test_sparks_envelope_knows_them_by_their_names(self, more: tuple[str, ...]) -> None:
        names = ["id", "primary", *("p_" + name for name in (*META, *more))]
        assert [each for each in map(partial(_parts, names), _MORE) if each] == [(["id", "primary"], "p_", more)]
        assert _parts(names[1:], ()) is None or not more
        assert _parts([*META], ()) is None

    def test_a_database(self, folder: Path, asked: Asked) -> None:
        import sqlite3

        file = folder.parent / "out.sqlite"
        to = ["--to", f"sqlite:{file}", "--into", "changes", "--consumer", "c"]
        assert run_cli(["follow", folder, "--once", *to, *self.OPTIONS]).code == 0
        with sqlite3.connect(file) as database:
            found = database.execute("SELECT DISTINCT cluster, dc, rack FROM changes").fetchall()
            assert found == [("shop", "dc1", "r1")]
            assert {flag for (flag,) in database.execute('SELECT DISTINCT "primary" FROM changes')} == {0, 1}

    @pytest.mark.parametrize("consumer", [(), ("--consumer", "c")])
    def test_a_node_that_serves_the_folder(self, folder: Path, asked: Asked, consumer: tuple[str, ...]) -> None:
        options = ("--once", "--output", "json", *self.OPTIONS, "--replicas", "primary")
        plain = run_cli(["follow", folder, *options])
        with served(folder) as node:
            told = run_cli(["follow", node.url, *options, *consumer])
        assert (told.code, told.out) == (plain.code, plain.out), told.err
        assert len(told.lines) > 1
        rings = [r for r in FolderJournal(state_folder(folder)).read() if isinstance(r, RingRecord)]
        assert [r.consumer for r in rings] == ["c"] * bool(consumer)

    def test_an_arrow_stream_says_its_columns(self, folder: Path, asked: Asked) -> None:
        import io
        from contextlib import closing

        from tailer.sinks.arrow import ArrowSink

        out = io.BytesIO()
        with closing(ArrowSink(out, more=("cluster", "primary"))):
            pass
        assert pyarrow.ipc.open_stream(out.getvalue()).schema.names[-2:] == ["cluster", "primary"]
