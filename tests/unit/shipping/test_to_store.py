"""Data files in an object store: moto's S3, looked at by Amazon's own client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import RefusedError, SystemFailedError, UsageError
from tailer.shipping.to_store import StoreTarget
from tests.helpers.amount import ALL
from tests.helpers.data_files import KEY, indexes, write_files
from tests.helpers.shipping import ship

BUCKET = "changes"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Its address, HOST:PORT."""
    moto = pytest.importorskip("moto.server", reason="moto[server] is not installed: no S3 to send to")
    made = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    made.start()
    host, port = made.get_host_and_port()
    yield f"{host}:{port}"
    made.stop()


@pytest.fixture
def s3(server: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    import boto3

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    client = boto3.client("s3", endpoint_url=f"http://{server}", region_name="us-east-1")
    client.create_bucket(Bucket=BUCKET)
    yield client
    for each in client.list_objects_v2(Bucket=BUCKET).get("Contents", ()):
        client.delete_object(Bucket=BUCKET, Key=each["Key"])
    client.delete_bucket(Bucket=BUCKET)


def address(server: str, bucket: str = BUCKET) -> str:
    return f"s3://{bucket}/from/cassandra?endpoint_override={server}&scheme=http&region=us-east-1"


def objects(s3: Any) -> dict[str, bytes]:
    found = [each["Key"] for each in s3.list_objects_v2(Bucket=BUCKET).get("Contents", ())]
    return {key: s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in found}


def kept(folder: Path) -> dict[str, bytes]:
    return {f"from/cassandra/n1/{path.name}": path.read_bytes() for path in (folder / "n1").glob("data-*")}


def test_files_are_objects(tmp_path: Path, server: str, s3: Any) -> None:
    write_files(tmp_path, [1, 2], [3], [4])
    before = kept(tmp_path)
    assert ship(tmp_path, address(server)) == 3
    assert objects(s3) == before
    assert len(indexes(tmp_path / "n1")) == 1
    assert ship(tmp_path, address(server)) == 0
    write_files(tmp_path, [5])
    assert ship(tmp_path, address(server), keep=9) == 1
    assert objects(s3) == before | kept(tmp_path)


def test_killed_between_file_and_index(tmp_path: Path, server: str, s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, [1], [2])
    upload = StoreTarget._upload

    def killed(target: StoreTarget, path: str, parts: Any) -> None:
        if path.endswith("000002.idx.json"):
            raise KeyboardInterrupt
        upload(target, path, parts)

    with monkeypatch.context() as dying:
        dying.setattr(StoreTarget, "_upload", killed)
        with pytest.raises(KeyboardInterrupt):
            ship(tmp_path, address(server))
    assert set(kept(tmp_path)) - set(objects(s3)) == {"from/cassandra/n1/data-000000000002.idx.json"}
    assert ship(tmp_path, address(server), keep=9) == 1
    assert objects(s3).items() >= kept(tmp_path).items()


def test_what_stands_there_counts(tmp_path: Path, server: str, s3: Any) -> None:
    """As after a kill between the store's index and the shipper's own file."""
    write_files(tmp_path, [1], [2])
    assert ship(tmp_path, address(server), keep=9) == 2
    file = tmp_path / ".cdc_tail" / "consumers" / "ship.json"
    file.write_text(file.read_text().replace('"upto": 2', '"upto": 1'))
    assert ship(tmp_path, address(server), keep=9) == 0
    for key in objects(s3):
        s3.delete_object(Bucket=BUCKET, Key=key)
    with pytest.raises(RefusedError, match="has none of the data files"):
        ship(tmp_path, address(server))
    write_files(tmp_path / "other", [1], key=KEY._replace(folder="0000"))
    ship(tmp_path / "other", address(server))
    with pytest.raises(RefusedError, match="another log or consumer"):
        ship(tmp_path, address(server), name="anew")


def test_what_a_person_must_mend(tmp_path: Path, server: str, s3: Any) -> None:
    write_files(tmp_path, [1])
    with pytest.raises(UsageError, match=r"s3://nowhere/from/cassandra: .*NO_SUCH_BUCKET"):
        ship(tmp_path, address(server, "nowhere"))
    with pytest.raises(UsageError, match="key in the address") as caught:
        ship(tmp_path, "s3://key:secret@changes/from")
    assert "secret" not in str(caught.value).replace("AWS_SECRET", "")
    with pytest.raises(UsageError, match="SCHEME://BUCKET/FOLDER"):
        ship(tmp_path, "s3://")


@pytest.mark.skipif(not ALL, reason="pyarrow tries for six seconds before it says so")
def test_a_store_that_is_away(tmp_path: Path, server: str, s3: Any) -> None:
    write_files(tmp_path, [1])
    with pytest.raises(SystemFailedError) as caught:
        ship(tmp_path, address("127.0.0.1:9"), retry_for=0)
    assert caught.value.code == 8
    assert ship(tmp_path, address(server)) == 1
