"""A follower that writes data files and their shipper while a service writes, each killed with SIGKILL again and again,
and the server that they send to: every row is in the target once, in order; over HTTP at least once, and once for who
remembers numbers.

CI kills a few times, `make soak` as often as `COUNT` says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import cramjam
import pytest

from tests.helpers.data_files import indexes, lines_of
from tests.helpers.keeping_server import KeepingServer
from tests.helpers.moto_s3 import Bucket, bucket
from tests.helpers.ship_kills import KILLS, NODE, ids, killed, ours, theirs
from tests.helpers.web_server import serving

pytestmark = pytest.mark.slow


@pytest.fixture
def s3() -> Iterator[Bucket]:
    with bucket("killed") as made:
        yield made


def rows(files: list[bytes]) -> list[int]:
    return ids(b"".join(bytes(cramjam.zstd.decompress(each)) for each in files).splitlines())


def test_into_a_folder(tmp_path: Path) -> None:
    durable = killed(tmp_path, f"files:{tmp_path / 'two'}", ours)
    found = lines_of(tmp_path / "two" / NODE)
    assert [row["partition_key"]["id"] for row in found] == durable
    assert len({row["event_id"] for row in found}) == len(found)
    print(f"{KILLS} kills, {len(found)} rows in {len(indexes(tmp_path / 'two' / NODE))} files")


def test_into_a_bucket(tmp_path: Path, s3: Bucket) -> None:
    durable = killed(tmp_path, s3.address, ours)
    found = s3.objects()
    names = sorted(key for key in found if key.endswith(".idx.json"))
    numbers = [json.loads(found[name])["number"] for name in names]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert rows([found[name.replace(".idx.json", ".jsonl.zst")] for name in names]) == durable


def test_over_http(tmp_path: Path) -> None:
    with serving() as server:
        durable = killed(tmp_path, f"{server.url}/changes", ours)
    numbers = [int(request.headers["Cdc-Tail-Number"]) for request in server.requests]
    known = {request.headers["Idempotency-Key"]: request.body for request in server.requests}
    assert [number for number, _ in groupby(numbers)] == list(range(1, len(known) + 1))
    assert all(known[request.headers["Idempotency-Key"]] == request.body for request in server.requests)
    assert rows(list(known.values())) == durable
    print(f"{KILLS} kills, {len(numbers)} requests with {len(known)} files")


def test_the_web_server_is_killed(tmp_path: Path) -> None:
    server = KeepingServer(tmp_path / "kept")
    server.start()
    try:
        durable = killed(tmp_path, server.url, theirs(server.kill, server.start))
    finally:
        server.kill()
    known = {int(key.rpartition("%2F")[2]): body for key, body in server.bodies().items()}
    assert sorted(known) == list(range(1, len(known) + 1))
    assert rows([known[number] for number in sorted(known)]) == durable
