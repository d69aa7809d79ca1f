"""A Spark query, JVM and Python workers and all, as the reader's user of the documented set-up; the server's cleans."""

from __future__ import annotations

import pytest

from tests.helpers.log_writer import completed
from tests.helpers.two_users import node_of_two_users, segment

pytestmark = [pytest.mark.spark, pytest.mark.soak]


def test_a_query_runs_as_the_reader_and_clean_as_the_servers_user() -> None:
    with node_of_two_users() as node:
        node.documented()
        node.log.put(segment(3), completed(segment(3)))
        node.give()
        out = node.shared.path / "out"
        out.mkdir()
        out.chmod(0o777)
        python = str(node.shared.python)
        env = {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python, "SPARK_LOCAL_DIRS": str(out)}
        words = ["stream", node.log.path, "--once", "--consumer", "lake", "--output", "json"]
        for _ in range(2):
            # A query's consumer moves one batch late.
            found = node.shared.run(node.reader, [*words, "--checkpoint", out / "checkpoint"], env=env)
            assert found.code == 0, found.err
        assert {path.stat().st_uid for path in node.state.rglob("*")} == {node.reader.uid}
        assert node.clean(node.server).code == 0
        assert node.logs() == [3]
