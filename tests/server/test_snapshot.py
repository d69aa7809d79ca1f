"""A table that was full before anybody followed it, of a real server of each version: the snapshot and the changes that
came meanwhile and behind it add up to what SELECT shows.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.amount import ALL
from tests.helpers.cli import run_cli
from tests.helpers.jvm.program import running
from tests.helpers.rebuilt import spelled
from tests.oracle.jsontext import dumps, loads
from tests.server.followers import CommandFollower
from tests.server.harness import Node
from tests.server.library import VERSIONS

pytestmark = [pytest.mark.server, pytest.mark.slow]

KEYSPACE = "before"
CREATE = (
    f"CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}",
    f"CREATE TYPE {KEYSPACE}.address (street text, number int, zip text)",
    f"CREATE TABLE {KEYSPACE}.plain (a int, b text, ck int, v int, w text, s text static, PRIMARY KEY ((a, b), ck)) "
    "WITH cdc = true AND CLUSTERING ORDER BY (ck DESC)",
    f'CREATE TABLE {KEYSPACE}."Odd" (id int PRIMARY KEY, l list<int>, t set<text>, m map<text, int>, home address, '
    "f float, d decimal) WITH cdc = true",
    f"CREATE TABLE {KEYSPACE}.counts (id int PRIMARY KEY, hits counter) WITH cdc = true",
    f"CREATE TABLE {KEYSPACE}.bare (id int, ck int, PRIMARY KEY (id, ck)) WITH cdc = true",
)
TABLES = ("plain", '"Odd"', "counts", "bare")
CLUSTERING = {"plain": "ck", '"Odd"': None, "counts": None, "bare": "ck"}
STATIC = {"plain": {"s"}}
KEYS, CKS = 40, 6
SETTLE_SECONDS = 2.0
REST_SECONDS = 180.0
QUICK = "-XX:TieredStopAtLevel=1"


class Writer:
    """Anything that CQL can do to these tables, at random, with so many keys."""

    def __init__(self, session: Any, seed: int, keys: int = KEYS) -> None:
        self._session = session
        self._choose = random.Random(seed)
        self._keys = keys

    def write(self, times: int) -> None:
        for _ in range(times):
            self._session.execute(self._statement())

    def _statement(self) -> str:
        choose = self._choose
        number, key, ck = choose.randrange(1000), choose.randrange(self._keys), choose.randrange(CKS)
        plain, odd = f"{KEYSPACE}.plain", f'{KEYSPACE}."Odd"'
        ttl = choose.choice(["", "", "", " USING TTL 5", " USING TTL 100000"])
        at = f"a = {key} AND b = 'p'"
        return choose.choice(
            [
                f"INSERT INTO {plain} (a, b, ck, v, w) VALUES ({key}, 'p', {ck}, {number}, 'w{number}'){ttl}",
                f"INSERT INTO {plain} (a, b, ck) VALUES ({key}, 'p', {ck})",
                f"UPDATE {plain}{ttl} SET v = {number} WHERE {at} AND ck = {ck}",
                f"UPDATE {plain} SET s = 's{number}' WHERE {at}",
                f"DELETE v FROM {plain} WHERE {at} AND ck = {ck}",
                f"DELETE w FROM {plain} WHERE {at} AND ck = {ck}",
                f"DELETE FROM {plain} WHERE {at} AND ck = {ck}",
                f"DELETE FROM {plain} WHERE {at} AND ck > {ck}",
                f"DELETE FROM {plain} WHERE {at}",
                f"INSERT INTO {odd} (id, l, t, m, home, f) VALUES ({key}, [{number}, 2], {{'a', 't{ck}'}}, "
                f"{{'k': {number}}}, {{street: 's', number: {number}}}, {number}.5)",
                f"UPDATE {odd} SET l = l + [{number}], t = t + {{'n{ck}'}}, m['m{ck}'] = {number} WHERE id = {key}",
                f"UPDATE {odd} SET l = [{number}] + l, home.zip = 'z{number}' WHERE id = {key}",
                f"UPDATE {odd} SET l = l - [2], t = t - {{'a'}}, m = m - {{'k'}} WHERE id = {key}",
                f"UPDATE {odd} SET home.number = null, d = {number}.25 WHERE id = {key}",
                f"UPDATE {odd} SET l = [{number}, {ck}], t = {{}} WHERE id = {key}",
                f"DELETE FROM {odd} WHERE id = {key}",
                f"UPDATE {KEYSPACE}.counts SET hits = hits + {ck} WHERE id = {key % 7}",
                f"INSERT INTO {KEYSPACE}.bare (id, ck) VALUES ({key}, {ck})",
                f"DELETE FROM {KEYSPACE}.bare WHERE id = {key} AND ck = {ck}",
                f"DELETE FROM {KEYSPACE}.bare WHERE id = {key}",
            ]
        )


def fill(node: Node, writes: int) -> None:
    """Make the tables of a new server, and write to them, and delete from them."""
    with node.session() as session:
        for statement in CREATE:
            session.execute(statement)
        Writer(session, 1).write(writes)
        # A user-defined type whose last field is null, and that has a byte which no text has.
        session.execute(f"INSERT INTO {KEYSPACE}.\"Odd\" (id, home) VALUES ({KEYS}, {{street: 's', number: 501}})")
    node.sync()


@contextmanager
def written(writer: Writer, pause: float = 0.0) -> Iterator[None]:
    """While the tables are written to."""
    stop = threading.Event()

    def write() -> None:
        while not stop.wait(pause):
            writer.write(5)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        yield
    finally:
        stop.set()
        writing.join()


class Following(CommandFollower):
    """`cdc-tail follow --image` that begins with a snapshot of the server."""

    def __init__(self, node: Node, *more: str) -> None:
        super().__init__("c", interrupted=True)
        self._server = f"{node.address}:{node.cql_port}"
        self._more = more

    def arguments(self, cdc_raw: Path, work: Path) -> list[str]:
        asked = ["--image", "after", "--from", "snapshot", "--server", self._server]
        return [*super().arguments(cdc_raw, work), *asked, "--snapshot-settle", str(SETTLE_SECONDS), *self._more]

    def images(self) -> list[dict[str, Any]]:
        return [loads(line) for line in self.rows()]

    def said(self) -> str:
        return self._errors.read_text()


def folded(images: Sequence[Mapping[str, Any]], table: str) -> set[str]:
    """What images of one table add up to, as SELECT JSON shows it."""
    rows: dict[str, Any] = {}
    statics: dict[str, Any] = {}
    for image in images:
        if image["table"] != table.strip('"') or image["op"] in ("delete_range", "delete_partition", "truncate"):
            continue
        partition = dumps(image["partition_key"])
        if image["is_static"]:
            statics[partition] = image["after"]
        else:
            rows[dumps([image["partition_key"], image["clustering"]])] = (partition, image["after"])
    shown = []
    names = STATIC.get(table, set())
    partitions = set()
    for partition, row in rows.values():
        if row is not None:
            partitions.add(partition)
            shown.append({**row, **(statics.get(partition) or dict.fromkeys(names))})
    clustering = CLUSTERING[table]
    for partition, row in statics.items():
        if row is not None and partition not in partitions:
            shown.append({**dict.fromkeys([clustering or "", "v", "w"]), **row})
    return {spelled(row) for row in shown}


def selected(session: Any, table: str) -> set[str]:
    return {spelled(loads(row[0])) for row in session.execute(f"SELECT JSON * FROM {KEYSPACE}.{table}")}


@pytest.fixture(scope="module", params=VERSIONS if ALL else ["4.0", "5.0"])
def full(
    request: pytest.FixtureRequest, needs_server: Callable[[str], None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Node]:
    """A server with tables that were written, and deleted from, before anybody looked."""
    needs_server(request.param)
    folder = tmp_path_factory.mktemp("cassandra")
    with running(Node(folder, version=request.param, heap="512m", options=[QUICK])) as node:
        fill(node, 1500)
        yield node


@pytest.fixture(scope="module")
def follower(full: Node, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Following]:
    """It begins while the tables are written to, is ended in the midst, and goes on."""
    made = Following(full)
    with full.session() as session, written(Writer(session, 2)):
        made.start(full.cdc_raw, tmp_path_factory.mktemp("work"))
        time.sleep(SETTLE_SECONDS + 4)
        made.pause()
        made.resume()
        time.sleep(6)
    full.sync()
    yield made
    made.stop()
    assert made.failures == []


def test_snapshot_and_changes_add_up_to_what_select_shows(full: Node, follower: Following) -> None:
    deadline = time.monotonic() + REST_SECONDS
    sentences = {f"snapshot of {KEYSPACE}.{table}:".replace('"', "") for table in TABLES}
    with full.session() as session:
        while True:
            # The log alone may make them equal before the snapshot of the last table ends.
            unsaid = {sentence for sentence in sentences if sentence not in follower.said()}
            images = follower.images()
            differing = {table: folded(images, table) ^ selected(session, table) for table in TABLES}
            if not (unsaid or any(differing.values())) or time.monotonic() > deadline:
                break
            time.sleep(1)
    assert {table: rows for table, rows in differing.items() if rows} == {}
    assert unsaid == set()


@pytest.mark.parametrize("table", TABLES)
def test_all_of_it_is_known_whole(full: Node, follower: Following, table: str) -> None:
    where = [str(full.cdc_raw), "--consumer", "c", "--server", f"{full.address}:{full.cql_port}"]
    name = f"{KEYSPACE}.{table}".replace('"', "")
    result = run_cli(["compare", *where, "--table", name, "--settle", "3", "--output", "json"])
    assert (result.code, result.lines) == (0, []), result.err
    assert "of which images know nothing" not in result.err


def test_rows_of_the_snapshot_say_so(follower: Following) -> None:
    ids = [image["event_id"] for image in follower.images() if (image["event_id"] or "").startswith("snapshot:")]
    assert len(ids) == len(set(ids)) > 0


def test_another_one_may_be_asked_for_meanwhile(full: Node, follower: Following) -> None:
    """Of the process that follows: it heals what was lost, and of what is known as it is there comes nothing."""
    where = [str(full.cdc_raw), "--consumer", "c", "--server", f"{full.address}:{full.cql_port}"]
    before = len(follower.images())
    result = run_cli(["snapshot", *where, "--table", f"{KEYSPACE}.bare"])
    assert result.code == 0, result.err
    assert "another process follows under this name" in result.err
    assert f"snapshot of {KEYSPACE}.bare: " in result.err
    assert f"a snapshot is asked for: {KEYSPACE}.bare" in follower.said()
    assert [image for image in follower.images()[before:] if image["event_id"]] == []
    result = run_cli(["snapshot", *where, "--table", f"{KEYSPACE}.nothing"])
    assert result.code == 2, result.err
    assert "nothing of that is followed" in result.err
