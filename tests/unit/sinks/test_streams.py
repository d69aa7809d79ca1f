"""JSON lines and Arrow: what comes out, and what happens when it cannot."""

from __future__ import annotations

import errno
import io
import json
from typing import IO

import pyarrow as pa
import pytest

from tailer.errors import SinkError
from tailer.rows.batch import COLUMNS, arrow_schema
from tailer.sinks.arrow import ArrowSink
from tailer.sinks.base import Sink
from tailer.sinks.json_lines import JsonLinesSink
from tailer.sinks.pretty import PrettySink
from tests.unit.sinks.rows import batch, row
from tests.unit.sinks.streams import Failing
from tests.unit.sinks.tables import no_table


def pretty(stream: IO[bytes]) -> Sink:
    return PrettySink(stream, no_table, colour=False)


SINKS = {"json": JsonLinesSink, "arrow": ArrowSink, "pretty": pretty}


def test_json_lines_have_nested_objects_and_all_columns_in_order() -> None:
    out = io.BytesIO()
    sink = JsonLinesSink(out)
    sink.write(batch(row(), row(op="delete_row", columns=None)))
    sink.write(batch())
    sink.close()
    lines = out.getvalue().decode().splitlines(keepends=True)
    assert len(lines) == 2
    assert lines[0].startswith('{"node":"local","keyspace":"shop","table":"orders",')
    assert '"columns":{"state":"new","total":12.50},' in lines[0]
    assert [tuple(json.loads(line)) for line in lines] == [COLUMNS, COLUMNS]
    assert json.loads(lines[1])["columns"] is None


def test_an_arrow_stream_holds_the_same_rows() -> None:
    out = io.BytesIO()
    sink = ArrowSink(out)
    sink.write(batch(row(), row(offset=99)))
    sink.write(batch())
    sink.write(batch(row(offset=100)))
    sink.close()
    table = pa.ipc.open_stream(out.getvalue()).read_all()
    assert table.schema == arrow_schema()
    assert table.column("offset").to_pylist() == [28, 99, 100]
    assert table.column("columns").to_pylist() == ['{"state":"new","total":12.50}'] * 3


def test_an_arrow_stream_without_rows_is_a_stream() -> None:
    out = io.BytesIO()
    ArrowSink(out).close()
    assert pa.ipc.open_stream(out.getvalue()).read_all().num_rows == 0


@pytest.mark.parametrize("kind", SINKS)
def test_a_full_disk_is_the_sinks_error(kind: str) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(SinkError, match="No space left on device") as caught:  # noqa: PT012
        sink = SINKS[kind](Failing(full))  # type: ignore[abstract]
        sink.write(batch(row()))
    assert caught.value.code == 7


@pytest.mark.parametrize("kind", SINKS)
def test_a_reader_that_went_away_is_told_as_it_is(kind: str) -> None:
    gone = BrokenPipeError(errno.EPIPE, "Broken pipe")
    with pytest.raises(BrokenPipeError):  # noqa: PT012
        sink = SINKS[kind](Failing(gone))  # type: ignore[abstract]
        sink.write(batch(row()))


@pytest.mark.parametrize("kind", SINKS)
def test_rows_are_out_when_write_returns(kind: str) -> None:
    raw = io.BytesIO()
    sink = SINKS[kind](io.BufferedWriter(raw, 1 << 20))  # type: ignore[arg-type, abstract]
    before = len(raw.getvalue())
    sink.write(batch(row()))
    assert len(raw.getvalue()) > before
