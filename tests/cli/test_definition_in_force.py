"""Messages with a schema: each row is written by the definition that was in force for it, however far a consumer lags.

Expected values are what was written into the log; a consumer that is caught up and one that lags get the same messages.
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tailer.shipping import to_outlet
from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.sinks.outlet import Bounds, OutletContext
from tests.cli.test_definition_faults import WIDE, Log, T, W, wide
from tests.helpers.cli import run_cli
from tests.helpers.data_files import lines_of
from tests.helpers.log_writer import (
    TS,
    Cell,
    Column,
    Liveness,
    Mutation,
    Row,
    Update,
    add_column,
    create_table,
    drop_column,
    i32,
)
from tests.helpers.outlets import MemoryOutlet, Target

fastavro = pytest.importorskip("fastavro")

W_TEXT = Column("w", "regular", "text")
WITH_TEXT = replace(T, columns=(*T.columns, W_TEXT))
DROP = TS + 1_000_000
FORMS = ("debezium", "debezium --with-schema", "debezium-cassandra")


def with_text(pk: int, w: str, ts: int) -> Mutation:
    return (Update(WITH_TEXT, i32(pk), (Row((b"a",), Liveness(ts), None, (("w", Cell(w.encode(), ts)),)),)),)


STEPS: tuple[tuple[Mutation, ...], ...] = (
    (create_table(WIDE, TS), wide(1, 1, 7, TS + 1)),
    (drop_column(T, W, DROP),),
    (add_column(WITH_TEXT, W_TEXT, DROP + 1), with_text(2, "seven", DROP + 2)),
)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def follow(log: Log, out: Path, form: str, *more: str) -> None:
    to = ("--to", f"files:{out}", "--format", *form.split(), *more)
    result = run_cli(["follow", log.path, "--once", "--consumer", out.name, *to])
    assert (result.code, result.err) == (0, "")


def without_times(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without when each message was made, and the numbers of images, which are times."""
    for message in messages:
        told = message.get("payload", message)
        told.pop("ts_ms")
        for name in ("image_id", "seq", "prev_seq"):
            told["source"].pop(name, None)
    return messages


def both(log: Log, tmp_path: Path, form: str, *more: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The messages of a consumer that has each step as it comes, and of one that has all at once."""
    for step in STEPS:
        log.write(*step)
        follow(log, tmp_path / "near", form, *more)
    follow(log, tmp_path / "far", form, *more)
    node = "images" if more else "local"
    near, far = (without_times(lines_of(tmp_path / name / node)) for name in ("near", "far"))
    return near, far


def type_of_w(message: dict[str, Any]) -> str | None:
    (after,) = [each for each in message["schema"]["fields"] if each["field"] == "after"]
    return next((each["type"] for each in after["fields"] if each["field"] == "w"), None)


@pytest.mark.parametrize("form", FORMS)
def test_a_lagging_consumer_gets_the_same_messages_of_rows(log: Log, tmp_path: Path, form: str) -> None:
    near, far = both(log, tmp_path, form)
    assert len(far) == 2
    assert far == near


@pytest.mark.parametrize("form", FORMS)
def test_a_lagging_consumer_of_the_typed_form_gets_the_same_messages(log: Log, tmp_path: Path, form: str) -> None:
    """Of the column that was dropped the form has the values in a column of another name."""
    near, far = both(log, tmp_path, f"{form} --typed ks.t")
    assert len(far) == 2
    assert far == near


@pytest.mark.parametrize("form", FORMS[:2])
def test_a_lagging_consumer_gets_the_same_messages_of_images(log: Log, tmp_path: Path, form: str) -> None:
    near, far = both(log, tmp_path, form, "--image", "both")
    assert len(far) > 2
    assert far == near


def test_a_row_is_written_by_the_definition_at_its_position(log: Log, tmp_path: Path) -> None:
    _, far = both(log, tmp_path, "debezium --with-schema")
    assert [(type_of_w(each), each["payload"]["after"]["w"]) for each in far] == [("int32", 7), ("string", "seven")]


def test_an_image_is_written_by_the_definition_that_its_number_counts_for(log: Log, tmp_path: Path) -> None:
    _, far = both(log, tmp_path, "debezium --with-schema", "--image", "both")
    told = [(type_of_w(each), (each["payload"]["after"] or {}).get("w")) for each in far]
    assert told[0] == ("int32", 7)
    assert told[-1] == ("string", "seven")
    assert (None, None) in told, "between the DROP and the ADD the table has no w"


class Sent(MemoryOutlet):
    """An outlet that sends messages as Kafka's does; `messages`: their schema of `after.w`, and its value."""

    def __init__(self, context: OutletContext, messages: list[tuple[Any, Any]]) -> None:
        super().__init__(Target(), context, Bounds(rows=1))
        images = context.images is not None
        options = EnvelopeOptions("debezium-avro")
        self._envelope = Envelope(options, context.tables, context.typed, images=images, versions=context.versions)
        self._messages = messages

    def write(self, batch: Any) -> int:
        for message in self._envelope.messages(batch.to_arrow(), 0):
            found = fastavro.reader(io.BytesIO(message.value))
            (record,) = found
            (value,) = [each for kind in found.writer_schema["fields"][0]["type"] if isinstance(each := kind, dict)]
            types = {each["name"]: each["type"] for each in value["fields"]}
            self._messages.append((types.get("w"), (record["after"] or {}).get("w")))
        return super().write(batch)


@pytest.mark.parametrize("image", [(), ("--image", "both")])
@pytest.mark.parametrize("apart", [True, False], ids=["a file each", "one file"])
def test_shipped_files_have_the_definitions_of_their_rows(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, image: tuple[str, ...], apart: bool
) -> None:
    messages: list[tuple[Any, Any]] = []
    monkeypatch.setattr(to_outlet, "open_outlet", lambda to, values, context: Sent(context, messages))
    for step in STEPS:
        log.write(*step)
        if apart:
            follow(log, tmp_path / "out", "rows", *image)
    follow(log, tmp_path / "out", "rows", *image)
    result = run_cli(["ship", tmp_path / "out", "--once", "--to", "kafka", "--consumer", "s"])
    assert (result.code, result.err) == (0, "")
    whole = [each for each in messages if each[1] is not None]
    assert whole[0] == (["null", "int"], 7)
    assert whole[-1] == (["null", "string"], "seven")
    assert len(whole) == 2
