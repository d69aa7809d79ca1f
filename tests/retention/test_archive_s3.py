"""The same archive in an object store: moto stands in for S3, through pyarrow's own client."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailer.archive.manifest import the_identity
from tailer.errors import CorruptError, UsageError
from tailer.retention.restore import restore
from tailer.stores.object_store import ObjectStore
from tailer.stores.open import open_store
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import LogFolder
from tests.retention.test_archive import clean, log, values

moto = pytest.importorskip("moto.server", reason="moto[server] is not installed (PyPI)")
boto3 = pytest.importorskip("boto3", reason="boto3 is not installed (PyPI)")

__all__ = ["log"]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "ACCESS_KEY_ID": "test",
            "SECRET_ACCESS_KEY": "test",
            "EC2_METADATA_DISABLED": "true",
        }.items():
            patch.setenv(f"AWS_{name}", value)
        boto3.client("s3", endpoint_url=f"http://{host}:{port}", region_name="us-east-1").create_bucket(Bucket="logs")
        yield f"{host}:{port}"
    running.stop()


def uri(server: str, bucket: str = "logs") -> str:
    return f"s3://{bucket}/cdc?scheme=http&endpoint_override={server}&region=us-east-1"


def test_what_is_archived_comes_back(server: str, log: LogFolder, tmp_path: Path) -> None:
    store = open_store(uri(server))
    assert isinstance(store, ObjectStore)
    assert len(clean(log.path, store).logs) == 3
    assert list(log.path.glob("*.log")) == []
    identity = the_identity(store)
    restore(store, identity, tmp_path / "back")
    assert values(tmp_path / "back") == [0, 1, 2]
    name = next(each for each in store.names(f"{identity}/{1_700_000_000_000}") if each.endswith(".log"))
    store.put(f"{identity}/{1_700_000_000_000}/{name}", [b"other bytes"])
    with pytest.raises(CorruptError, match="SHA-256"):
        restore(store, identity, tmp_path / "again")


def test_a_store_that_refuses_is_exit_2_and_nothing_goes(server: str, log: LogFolder) -> None:
    with pytest.raises(UsageError, match="NO_SUCH_BUCKET"):
        clean(log.path, open_store(uri(server, "no-such-bucket")))
    assert values(log.path) == [0, 1, 2]


def test_an_address_that_is_none_is_exit_2() -> None:
    with pytest.raises(UsageError, match="address"):
        open_store("nonsense://x")
    with pytest.raises(UsageError, match="key in it") as told:
        open_store("s3://user:secret@logs/cdc")
    assert "secret" not in told.value.sentence()


def test_readers_go_on_from_it(server: str, log: LogFolder, tmp_path: Path) -> None:
    where = uri(server).replace("/cdc?", "/read?")
    store = open_store(where)
    assert len(clean(log.path, store).logs) == 3
    follow = ["follow", log.path, "--once", "--stopped", "--output", "json", "--archive"]
    assert [json.loads(line)["columns"]["v"] for line in run_cli([*follow, where]).lines] == [0, 1, 2]
    shutil.rmtree(log.path)
    log.path.mkdir()
    shutil.rmtree(log.path.with_name("cdc_raw.cdc_tail"))
    one = where.replace("/read?", f"/read/{the_identity(store)}?")
    alone = run_cli([*follow, one, "--consumer", "c"])
    assert [json.loads(line)["columns"]["v"] for line in alone.lines] == [0, 1, 2], alone.err
