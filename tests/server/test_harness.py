"""The harness itself: a server that runs, is killed, comes back, and shows its own log.

test_live_server.py does not pass without most of this; what takes minutes is run by `make soak SOAK=harness`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.amount import ALL
from tests.oracle.segments import edges
from tests.server.harness import CommandFailed, Node
from tests.server.schema import CHANGES, KEYSPACE, TABLES
from tests.server.view import Keeper, ServerView
from tests.server.workload import Step, Workload, run

pytestmark = [pytest.mark.server, pytest.mark.slow]

minutes = pytest.mark.skipif(not ALL, reason="minutes: make soak SOAK=harness")


@minutes
def test_a_server_runs_dies_and_comes_back_with_its_log(node: Node, work: Path) -> None:
    with Keeper(node.cdc_raw) as keeper:
        view = ServerView(node, keeper, work)
        workload = Workload(seed=1)
        with node.session() as session:
            run(session, workload.create(), view.look)
            first = run(session, workload.mix(700, changes=len(CHANGES) // 2), view.look)
        view.look()
        before = len(view.lines)
        node.kill()
        assert not node.running
        node.start_again()
        with node.session() as session:
            second = run(session, workload.mix(500, changes=len(CHANGES) - len(CHANGES) // 2), view.look)
        node.drain()
        view.look()
        assert len(first.refused + second.refused) < 0.05 * 1200
        assert len(view.lines) > before + 500
        assert len(keeper.names) > 3
        assert view.problems == {}
    updates = [update for line in view.lines for update in json.loads(line)["updates"]]
    tables = {update["table"] for update in updates if update["keyspace"] == KEYSPACE}
    assert tables == {*TABLES, "quiet", "late"}


def test_the_same_seed_gives_the_same_statements() -> None:
    def steps() -> list[Step]:
        workload = Workload(seed=5)
        return [*workload.create(), *workload.mix(400, changes=8), *workload.mix(100)]

    assert steps() == steps()


@minutes
def test_an_unknown_command_is_an_error_and_the_node_goes_on(node: Node) -> None:
    with pytest.raises(CommandFailed, match="no such command"):
        node.command("dance")
    assert node.running


@minutes
def test_time_reads_a_segment_as_often_as_asked(node: Node) -> None:
    segment = min(node.cdc_raw.glob("*.log"))
    runs = node.time(segment, 3)
    assert len(runs) == 3
    assert all(seconds > 0 and count == runs[0][0] > 0 for count, seconds in runs)


@minutes
def test_a_torn_marker_is_forgiven_at_the_start_and_shown_by_the_dump(node: Node, work: Path) -> None:
    """What a kill in the midst of a marker leaves: the place of the next one is written, its CRC is not yet."""
    if not node.running or node.drained:
        node.stop()
        node.start_again()
    with node.session() as session:
        session.execute(
            "CREATE KEYSPACE IF NOT EXISTS torn WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        session.execute("CREATE TABLE IF NOT EXISTS torn.t (id int PRIMARY KEY) WITH cdc = true")
        session.execute("INSERT INTO torn.t (id) VALUES (1)")
    node.sync()
    node.kill()
    segment = max(
        sidecar.with_name(f"{sidecar.stem.removesuffix('_cdc')}.log") for sidecar in node.cdc_raw.glob("*.idx")
    )
    tear = edges(segment.read_bytes())[-1]
    with segment.open("r+b") as file:
        file.seek(tear)
        file.write((tear + 108).to_bytes(4, "big"))
    assert node.start_again()
    out = work / "torn.jsonl"
    node.dump(segment, out)
    problem = json.loads(out.read_text("utf-8").splitlines()[-1])["problem"]
    assert f"bad header at position {tear} " in problem
