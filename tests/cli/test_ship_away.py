"""A target that is away under a shipper that goes on by itself, for a minute in `make soak`, while the follower beside
it goes on writing files: the shipper says so, and afterwards each row is there once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import cramjam
import pytest

from tests.helpers.cut_proxy import CutProxy
from tests.helpers.keeping_server import KeepingServer
from tests.helpers.log_writer import simple_table
from tests.helpers.long_run import long_run
from tests.helpers.moto_s3 import bucket
from tests.helpers.outage import LONG, outage, shipper_says_it
from tests.helpers.shipping import sent
from tests.helpers.steady_log import steady_log

pytestmark = pytest.mark.slow

FEW = 3


def away(tmp_path: Path, to: str, take: Callable[[], None], give_back: Callable[[], None]) -> int:
    """How many rows there are, when all is sent."""
    out = tmp_path / "out"
    out.mkdir()
    rolling = ["--to", f"files:{out}", "--roll-seconds", "0.3"]
    with steady_log(tmp_path, simple_table("ks", "t")) as log:
        follow = ["follow", str(log.folder), "--node", "n1", "--consumer", "c", *rolling]
        ship = ["ship", str(out), "--to", to, "--retry-for", "5min"]
        with long_run(follow, tmp_path / "follow.said") as run, long_run(ship, tmp_path / "ship.said") as shipper:
            shipper.await_that(lambda: sent(out, "n1") > FEW)
            outage(take, give_back, lambda: shipper_says_it(out), shipper, log)
            before = sent(out, "n1")
            shipper.await_that(lambda: sent(out, "n1") > before + FEW)
            run.end()
            shipper.end()
    for words in (follow, ship):
        with long_run([*words, "--once"], tmp_path / "rest.said") as rest:
            rest.ended()
    return log.rows


def values(files: list[bytes]) -> list[int]:
    lines = b"".join(bytes(cramjam.zstd.decompress(each)) for each in files).splitlines()
    return [json.loads(line)["columns"]["v"] for line in lines]


def test_a_web_server(tmp_path: Path) -> None:
    server = KeepingServer(tmp_path / "kept")
    server.start()
    try:
        rows = away(tmp_path, server.url, server.kill, server.start)
    finally:
        server.kill()
    known = {int(key.rpartition("%2F")[2]): body for key, body in server.bodies().items()}
    assert values([known[number] for number in sorted(known)]) == list(range(rows))


@pytest.mark.skipif(not LONG, reason="pyarrow tries for six seconds before it says so")
def test_a_bucket(tmp_path: Path) -> None:
    with bucket("away") as s3:
        proxy = CutProxy(s3.port)
        address = s3.by_way_of(f"127.0.0.1:{proxy.port}")
        rows = away(tmp_path, address, proxy.close, proxy.reopen)
        found = s3.objects()
        proxy.close()
    assert values([found[name] for name in sorted(found) if name.endswith(".zst")]) == list(range(rows))
