"""Data files in an object store: moto's S3, looked at by Amazon's own client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import RefusedError, SystemFailedError, UsageError
from tailer.stores.object_store import ObjectStore
from tests.helpers.amount import ALL
from tests.helpers.data_files import KEY, indexes, write_files
from tests.helpers.moto_s3 import CREDENTIALS, Bucket, moto_server
from tests.helpers.shipping import ship


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Its address, HOST:PORT."""
    with moto_server() as made:
        yield made


@pytest.fixture
def s3(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    for variable, value in CREDENTIALS.items():
        monkeypatch.setenv(variable, value)
    made = Bucket(server, "changes")
    yield made
    made.remove()


def kept(folder: Path) -> dict[str, bytes]:
    return {f"from/cassandra/n1/{path.name}": path.read_bytes() for path in (folder / "n1").glob("data-*")}


def test_files_are_objects(tmp_path: Path, s3: Bucket) -> None:
    write_files(tmp_path, [1, 2], [3], [4])
    before = kept(tmp_path)
    assert ship(tmp_path, s3.address) == 3
    assert s3.objects() == before
    assert len(indexes(tmp_path / "n1")) == 1
    assert ship(tmp_path, s3.address) == 0
    write_files(tmp_path, [5])
    assert ship(tmp_path, s3.address, keep=9) == 1
    assert s3.objects() == before | kept(tmp_path)


def test_killed_between_file_and_index(tmp_path: Path, s3: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, [1], [2])
    put = ObjectStore.put

    def killed(store: ObjectStore, name: str, parts: Any) -> None:
        if name.endswith("000002.idx.json"):
            raise KeyboardInterrupt
        put(store, name, parts)

    with monkeypatch.context() as dying:
        dying.setattr(ObjectStore, "put", killed)
        with pytest.raises(KeyboardInterrupt):
            ship(tmp_path, s3.address)
    assert set(kept(tmp_path)) - set(s3.objects()) == {"from/cassandra/n1/data-000000000002.idx.json"}
    assert ship(tmp_path, s3.address, keep=9) == 1
    assert s3.objects().items() >= kept(tmp_path).items()


def test_what_stands_there_counts(tmp_path: Path, s3: Bucket) -> None:
    """As after a kill between the store's index and the shipper's own file."""
    write_files(tmp_path, [1], [2])
    assert ship(tmp_path, s3.address, keep=9) == 2
    file = tmp_path / ".cdc_tail" / "consumers" / "ship.json"
    file.write_text(file.read_text().replace('"upto": 2', '"upto": 1'))
    assert ship(tmp_path, s3.address, keep=9) == 0
    s3.empty()
    with pytest.raises(RefusedError, match="has none of the data files"):
        ship(tmp_path, s3.address)
    write_files(tmp_path / "other", [1], key=KEY._replace(folder="0000"))
    ship(tmp_path / "other", s3.address)
    with pytest.raises(RefusedError, match="another log or consumer"):
        ship(tmp_path, s3.address, name="anew")


def test_what_a_person_must_mend(tmp_path: Path, server: str, s3: Bucket) -> None:
    write_files(tmp_path, [1])
    with pytest.raises(UsageError, match=r"s3://nowhere/from/cassandra/.*NO_SUCH_BUCKET"):
        ship(tmp_path, s3.by_way_of(server, "nowhere"))
    with pytest.raises(UsageError, match="address has a key in it") as caught:
        ship(tmp_path, "s3://key:secret@changes/from")
    assert "secret" not in str(caught.value).replace("AWS_SECRET", "")
    with pytest.raises(UsageError, match="s3://BUCKET/PATH"):
        ship(tmp_path, "s3://")


def test_a_wrong_key(tmp_path: Path, s3: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 2 at once: to try again would not help."""
    write_files(tmp_path, [1])
    with monkeypatch.context() as strict:
        # From now on the store knows whom it lets in: nobody.
        strict.setattr("moto.settings.INITIAL_NO_AUTH_ACTION_COUNT", 0)
        with pytest.raises(UsageError, match=r"INVALID_ACCESS_KEY_ID|ACCESS_DENIED") as caught:
            ship(tmp_path, s3.address)
    assert caught.value.code == 2
    assert "secret" not in str(caught.value)
    assert s3.objects() == {}
    assert ship(tmp_path, s3.address) == 1


@pytest.mark.skipif(not ALL, reason="pyarrow tries for six seconds before it says so")
def test_a_store_that_is_away(tmp_path: Path, s3: Bucket) -> None:
    write_files(tmp_path, [1])
    with pytest.raises(SystemFailedError) as caught:
        ship(tmp_path, s3.by_way_of("127.0.0.1:9"), retry_for=0)
    assert caught.value.code == 8
    assert ship(tmp_path, s3.address) == 1
