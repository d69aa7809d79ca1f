"""Every door takes and refuses the same words, and says so in its own spelling."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailer
from tailer.errors import UsageError
from tailer.options.declared import TAIL, Option
from tailer.options.sources import resolve
from tailer.options.to_python import python_options
from tailer.options.to_spark import parse_options, spark_texts

WRONG = {
    "node": "a b",
    "schema_changes": "maybe",
    "tables_may_come": "maybe",
    "masks_may_come": "maybe",
    "with_origin": "maybe",
    "with_primary": "maybe",
    "replicas": "first",
    "on_schema_change": "fial",
    "decimals": "text",
    "meta_prefix": "a b",
    "case_sensitive": "maybe",
    "consumer": "a/b",
    "stopped": "yes",
    "hold_seconds": "-1",
    "assume_finished_after": "soon",
    "on_error": "quarantin",
    "odd_keys": "quarantin",
    "quarantine_tables": "ks.t",
    "accept_loss": "yes",
    "settle_seconds": "-1",
    "start": "yesterday",
    "until": "tomorrow",
}
FREE = {"archive", "cassandra_yaml", "tables", "table", "schema_file", "server", "state", "keystore"} | {
    "server_ca", "server_cert", "server_key", "mask", "exclude", "mask_key", "keystore_password_file", "cluster", "dc",
    "rack", "node_ca", "node_cert", "node_key", "token_file",
}  # fmt: skip
"""Any text may be one; who uses it finds out."""


def python(**options: Any) -> Any:
    return python_options(options, "a test")


@pytest.mark.parametrize("option", TAIL, ids=lambda option: option.name)
def test_every_door_refuses_the_same_words(option: Option) -> None:
    if option.name in FREE:
        assert option.name not in WRONG
        return
    wrong, expected = WRONG[option.name], f"expected {option.kind.expected}, found {WRONG[option.name]!r}."
    if option.python:
        with pytest.raises(UsageError) as told:
            python(**{option.name: wrong})
        assert str(told.value) == f"{option.name}: {expected}"
    if option.spark:
        with pytest.raises(UsageError) as told:
            parse_options({"path": "/x", option.spark: wrong})
        assert str(told.value) == f"option {option.spark}: {expected}"
    if option.word and option.kind.shape != "flag":
        with pytest.raises(UsageError) as told:
            resolve("follow", {option.name: wrong}, {})
        assert str(told.value) == f"--{option.word}: {expected}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stopped", "yes"),
        ("stopped", 1),
        ("stopped", None),
        ("tables", "ks.t"),
        ("tables", b"ks.t"),
        ("tables", [1]),
        ("tables", {"ks.t": 1}),
        ("settle_seconds", "5"),
        ("settle_seconds", True),
        ("settle_seconds", -1),
        ("settle_seconds", float("nan")),
        ("settle_seconds", Decimal(1)),
        ("schema_file", 7),
        ("schema_file", b"x"),
        ("state", ""),
        ("on_error", "STOP"),
        ("on_error", ["stop"]),
        ("server", 9042),
        ("consumer", 5),
    ],
)
def test_python_refuses_wrong_types(name: str, value: object, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"^{name}: expected .*, found "):
        tailer.open(tmp_path, **{name: value})


def test_python_takes_what_stands_for_the_type(tmp_path: Path) -> None:
    made = python(
        settle_seconds=np.float32(2.5), assume_finished_after=Fraction(1, 2), schema_file="a.cql", state=tmp_path,
        tables={"b.c", "a.b"}, consumer=None,
    )  # fmt: skip
    assert (made.settle_seconds, made.assume_finished_after) == (2.5, 0.5)
    assert (made.schema_file, made.state) == (Path("a.cql"), tmp_path)
    assert made.tables == ("a.b", "b.c")
    assert python(settle_seconds=3).settle_seconds == 3.0


def test_an_unknown_name_gets_the_nearest_first(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown option 'on_eror'\. There are: on_error, "):
        tailer.open(tmp_path, on_eror="stop")
    with pytest.raises(UsageError, match=r"unknown option 'onEror'\. There are: onError, "):
        parse_options({"path": "/x", "onEror": "stop"})
    with pytest.raises(UsageError, match="unknown option 'start'"):
        tailer.open(tmp_path, start="earliest")


def test_run_checks_alike(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="on_error: expected stop or quarantine"):
        tailer.run(tmp_path, None, on_error="quarantin")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="name: expected letters"):
        tailer.run(tmp_path, None, name="a/b")  # type: ignore[arg-type]


def test_spark_has_what_python_has() -> None:
    texts = {"serverCa": "/ca", "serverCert": "/cert", "serverKey": "/key", "keystorePasswordFile": "file:///pass"}
    tail = parse_options({"path": "/x", **texts}).tail
    assert (tail.server_ca, tail.server_cert, tail.server_key) == (Path("/ca"), Path("/cert"), Path("/key"))
    assert tail.keystore_password_file == Path("/pass")


def test_stream_hands_on_what_spark_understands() -> None:
    given = {
        "tables": ["a.b", "c.d"], "server_key": "k.pem", "keystore_password_file": "/p", "accept_loss": True,
        "schema_changes": True, "max_bytes": "64m", "assume_finished_after": "5", "start": "17:20",
        "decimals": "string",
    }  # fmt: skip
    values = {name: found.value for name, found in resolve("stream", given, {}).items()}
    texts = spark_texts(values)
    assert texts == {
        "tables": "a.b,c.d",
        "startingOffsets": "17:20",
        "includeSchemaChanges": "true",
        "decimals": "string",
        "serverKey": str(Path("k.pem").absolute()),
        "keystorePasswordFile": "/p",
        "failOnDataLoss": "false",
        "maxBytesPerTrigger": str(64 << 20),
        "assumeFinishedAfter": "5.0",
    }
    tail = parse_options({"path": "/x", **texts}).tail
    assert {name: getattr(tail, name) for name in ("tables", "accept_loss", "assume_finished_after", "decimals")} == {
        "tables": ("a.b", "c.d"),
        "accept_loss": True,
        "assume_finished_after": 5.0,
        "decimals": "string",
    }
