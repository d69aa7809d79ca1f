"""Messages of a few rows, as what their JSON says."""

from __future__ import annotations

import json
from typing import Any

from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.sinks.table_text import Tables
from tests.unit.sinks.rows import batch, row
from tests.unit.sinks.tables import no_table

AT = 1_795_300_000_000


def values(form: str, *rows: tuple[Any, ...], tables: Tables = no_table, **options: Any) -> list[Any]:
    """Of generic rows."""
    envelope = Envelope(EnvelopeOptions(form, **options), tables)
    return [json.loads(message.value or b"null") for message in envelope.messages(batch(*rows).to_arrow(), AT)]


def value(form: str, tables: Tables = no_table, **changes: Any) -> Any:
    """Of an ordinary row with these changes."""
    (made,) = values(form, row(**changes), tables=tables)
    return made


def key(form: str, tables: Tables, **changes: Any) -> Any:
    """The key of an ordinary row with these changes."""
    (message,) = Envelope(EnvelopeOptions(form), tables).messages(batch(row(**changes)).to_arrow(), AT)
    return None if message.key is None else json.loads(message.key)
