"""A server's cassandra.yaml: folder, limit, delay and keystore, in the names and units of 4.0 and of later ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import UsageError
from tailer.options.cassandra_yaml import ServerSettings, package_yaml, server_settings
from tailer.options.sources import Found, resolve
from tailer.options.to_python import folder_of, python_options
from tailer.options.to_spark import parse_options

MIB = 1024 * 1024
ENCRYPTED = """
cdc_raw_directory: /log/cdc_raw
transparent_data_encryption_options:
  enabled: {enabled}
  cipher: AES/CBC/PKCS5Padding
  key_provider:
    - class_name: org.apache.cassandra.security.JKSKeyProvider
      parameters:
        - keystore: {keystore}
          keystore_password: cassandra
          store_type: JCEKS
"""

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def made(text: str) -> Path:
        file = tmp_path / "cassandra.yaml"
        file.write_text(text, "utf-8")
        return file

    return made


def said(file: Path, environ: dict[str, str] | None = None) -> ServerSettings:
    return server_settings(file, environ or {})


@pytest.mark.parametrize(
    ("text", "cap"),
    [
        ("cdc_total_space_in_mb: 4096", 4096 * MIB),
        ("cdc_total_space: 4096MiB", 4096 * MIB),
        ("cdc_total_space: 2GiB", 2048 * MIB),
        ("cdc_total_space: 1024KiB", MIB),
        ("cdc_total_space_in_mb: 0", None),
        ("cdc_total_space: 0MiB", None),
        ("cdc_enabled: true", None),
    ],
)
def test_the_space_limit_in_both_spellings(write: Write, text: str, cap: int | None) -> None:
    assert said(write(text)).cap == cap


@pytest.mark.parametrize(
    ("text", "sync", "delay"),
    [
        ("commitlog_sync: periodic\ncommitlog_sync_period_in_ms: 10000", "periodic", 10.0),
        ("commitlog_sync: periodic\ncommitlog_sync_period: 200ms", "periodic", 0.2),
        ("commitlog_sync: periodic\ncommitlog_sync_period: 10s", "periodic", 10.0),
        ("commitlog_sync: periodic\ncommitlog_sync_period: 1m", "periodic", 60.0),
        ("commitlog_sync: group\ncommitlog_sync_group_window_in_ms: 20", "group", 0.02),
        ("commitlog_sync: group\ncommitlog_sync_group_window: 1000us\ncommitlog_sync_period: 9s", "group", 0.001),
        ("commitlog_sync: batch\ncommitlog_sync_period: 9s", "batch", 0.0),
        ("commitlog_sync: periodic", "periodic", None),
    ],
)
def test_the_delay_is_that_of_the_kind_of_sync(write: Write, text: str, sync: str, delay: float | None) -> None:
    found = said(write(text))
    assert (found.sync, found.delay) == (sync, delay)


def test_the_folder_is_named_or_below_the_servers_home(write: Write, tmp_path: Path) -> None:
    assert said(write("cdc_raw_directory: /var/lib/cassandra/cdc_raw")).folder == Path("/var/lib/cassandra/cdc_raw")
    home = {"CASSANDRA_HOME": "/opt/cassandra"}
    assert said(write("cdc_enabled: true"), home).folder == Path("/opt/cassandra/data/cdc_raw")
    assert said(write("cdc_raw_directory: logs/cdc"), home).folder == Path("/opt/cassandra/logs/cdc")
    with pytest.raises(UsageError, match=r"does not say where the log is.*CASSANDRA_HOME"):
        _ = said(write("cdc_enabled: true")).folder


def test_a_distribution_that_was_unpacked_is_its_own_home(tmp_path: Path) -> None:
    for name in ("bin", "conf"):
        (tmp_path / name).mkdir()
    file = tmp_path / "conf" / "cassandra.yaml"
    file.write_text("cdc_enabled: true\n")
    # RPM's /etc/cassandra/conf is no such place: there is no server beside it.
    assert said(file).cdc_raw is None
    (tmp_path / "bin" / "cassandra").touch()
    assert said(file).folder == tmp_path / "data" / "cdc_raw"


def test_a_keystore_counts_where_the_log_is_encrypted(write: Write) -> None:
    given = write(ENCRYPTED.format(enabled="true", keystore="/etc/cassandra/.keystore"))
    assert said(given).keystore_at == Path("/etc/cassandra/.keystore")
    relative = write(ENCRYPTED.format(enabled="true", keystore="conf/.keystore"))
    assert said(relative, {"CASSANDRA_HOME": "/opt/c"}).keystore_at == Path("/opt/c/conf/.keystore")
    assert said(relative).keystore_at is None
    assert "conf/.keystore lies is not known" in said(relative).notices()[1]
    assert said(write(ENCRYPTED.format(enabled="false", keystore="/k"))).keystore_at is None


def test_what_is_told(write: Write) -> None:
    file = write("commitlog_sync: periodic\ncommitlog_sync_period: 10000ms\n")
    assert said(file).notices() == [
        f"warning: {file} says cdc_enabled: false: that server captures nothing",
        f"{file}: commitlog_sync is periodic: a change is durable within 10 s",
    ]
    assert said(write("cdc_enabled: true\ncommitlog_sync: batch")).notices() == [
        f"{file}: commitlog_sync is batch: a change is durable within milliseconds"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cdc_total_space: 4 GB", "cdc_total_space .*such as 4096MiB"),
        ("cdc_total_space: 4096", "cdc_total_space .*such as 4096MiB"),
        ("commitlog_sync: periodic\ncommitlog_sync_period: 200", "commitlog_sync_period .*such as 200ms"),
        ("commitlog_sync: sometimes", "periodic, group or batch"),
        ("cdc_enabled: maybe", "true or false"),
        ("cdc_total_space_in_mb: -1", "a number"),
        ("cdc_raw_directory: 7", "a text"),
        ("a: [", "not YAML"),
        ("- a\n- b", "names and values"),
        ("a: !!python/object/apply:os.getcwd []", "not YAML"),
    ],
)
def test_what_no_server_takes_is_refused(write: Write, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        said(write(text))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no such cassandra\.yaml"):
        said(tmp_path / "none.yaml")
    with pytest.raises(UsageError, match="--cassandra-yaml FILE"):
        package_yaml((tmp_path / "none",))
    (tmp_path / "there").touch()
    assert package_yaml((tmp_path / "none", tmp_path / "there")) == tmp_path / "there"


class TestOptions:
    TEXT = ENCRYPTED.format(enabled="true", keystore="/k") + "cdc_total_space: 64MiB\n"

    def test_what_is_said_by_hand_wins(self, write: Write) -> None:
        file = str(write(self.TEXT))
        found = resolve("follow", {"cassandra_yaml": file}, {})
        assert found["keystore"] == Found(Path("/k"), f"{file}:transparent_data_encryption_options")
        assert found["cap"] == Found(64 * MIB, f"{file}:cdc_total_space")
        given: dict[str, Any] = {"cassandra_yaml": file, "cap": "1g"}
        found = resolve("follow", given, {"CDC_TAIL_KEYSTORE": "/mine"})
        assert found["keystore"] == Found(Path("/mine"), "CDC_TAIL_KEYSTORE")
        assert found["cap"] == Found(1024 * MIB, "command line")
        assert resolve("status", {}, {"CDC_TAIL_CASSANDRA_YAML": file})["cap"].value == 64 * MIB
        assert resolve("follow", {}, {})["cap"] == Found(None, "default")

    def test_a_folder_that_nobody_names_is_the_packages(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        file = write(self.TEXT)
        monkeypatch.setattr("tailer.options.sources.package_yaml", lambda: file)
        found = resolve("status", {}, {}, without_folder=True)
        assert found["cassandra_yaml"] == Found(file, "package")
        assert found["cap"].value == 64 * MIB

    def test_python(self, write: Write) -> None:
        file = write(self.TEXT)
        options = python_options({"cassandra_yaml": file}, "a test")
        assert (options.keystore, folder_of(options)) == (Path("/k"), Path("/log/cdc_raw"))
        assert python_options({"cassandra_yaml": file, "keystore": "/mine"}, "a test").keystore == Path("/mine")
        with pytest.raises(UsageError, match="cassandra_yaml=FILE"):
            folder_of(python_options({}, "a test"))

    def test_spark(self, write: Write) -> None:
        file = str(write(self.TEXT))
        found = parse_options({"cassandraYaml": file})
        assert found.places == (("local", Path("/log/cdc_raw")),)
        assert found.tail.keystore == Path("/k")
        found = parse_options({"cassandraYaml": file, "path": "/x", "keystore": "/mine"})
        assert (found.places, found.tail.keystore) == ((("local", Path("/x")),), Path("/mine"))
