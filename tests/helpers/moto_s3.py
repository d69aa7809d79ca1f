"""An S3 of moto's, looked at by Amazon's own client, and a bucket in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@contextmanager
def moto_server() -> Iterator[str]:
    """Its address, HOST:PORT. Skips where there is no moto."""
    moto = pytest.importorskip("moto.server", reason="moto[server] is not installed: no S3 to send to")
    made = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    made.start()
    host, port = made.get_host_and_port()
    try:
        yield f"{host}:{port}"
    finally:
        made.stop()


@contextmanager
def bucket(name: str) -> Iterator[Bucket]:
    """One of a server of its own, and the credentials for it in the environment."""
    with moto_server() as server, pytest.MonkeyPatch.context() as patch:
        for variable, value in CREDENTIALS.items():
            patch.setenv(variable, value)
        yield Bucket(server, name)


class Bucket:
    """Empty, and with nothing left behind by `remove`."""

    def __init__(self, server: str, name: str) -> None:
        import boto3

        self._server = server
        self._name = name
        self.client: Any = boto3.client("s3", endpoint_url=f"http://{server}", region_name="us-east-1")
        self.client.create_bucket(Bucket=name)

    @property
    def address(self) -> str:
        """What `--to` is given."""
        return self.by_way_of(self._server)

    @property
    def port(self) -> int:
        return int(self._server.rpartition(":")[2])

    def by_way_of(self, server: str, name: str | None = None) -> str:
        """The same where another address leads to the server; or another bucket."""
        bucket = name or self._name
        return f"s3://{bucket}/from/cassandra?endpoint_override={server}&scheme=http&region=us-east-1"

    def objects(self) -> dict[str, bytes]:
        """By key."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self._name)
        keys = [each["Key"] for page in pages for each in page.get("Contents", ())]
        return {key: self.client.get_object(Bucket=self._name, Key=key)["Body"].read() for key in keys}

    def empty(self) -> None:
        for key in self.objects():
            self.client.delete_object(Bucket=self._name, Key=key)

    def remove(self) -> None:
        self.empty()
        self.client.delete_bucket(Bucket=self._name)
