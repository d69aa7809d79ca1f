"""Compiled and plain twins over every section of every recorded set, genuine and damaged."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailer.errors import CorruptError
from tailer.framing.name import parse_log_name
from tailer.framing.section import NoSection
from tailer.rows.prepared import Prepared, prepare
from tailer.schema.builtin import builtin_definitions, system_tables
from tailer.schema.decode import deltas
from tailer.schema.follow import SchemaState
from tailer.segments.segment import SegmentFile
from tests.helpers.sets import FRAMED, PLAIN
from tests.unit.scan.compiled.twins import compiled_only, entries_both, scan_both
from tests.unit.schema.recorded import schema_mutations

pytestmark = [compiled_only, pytest.mark.slow]


@pytest.mark.parametrize("name", [*PLAIN, *FRAMED])
def test_every_section(name: str, sets_root: Path) -> None:
    folder = sets_root / name
    choices = list(_definitions(folder))
    dice = random.Random(name)
    count = 0
    for data in _sections(folder):
        entries = entries_both(data)
        count += len(entries.starts)
        prepared = dice.choice(choices)
        scan_both(data, entries.starts, entries.sizes, prepared.scan_tables, unsigned_times=dice.random() < 0.5)
        if data:
            damaged = bytearray(data)
            for _ in range(1 + len(data) // 4096):
                damaged[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            entries_both(bytes(damaged))
            scan_both(bytes(damaged), entries.starts, entries.sizes, choices[0].scan_tables)
    assert count > 0


def _definitions(folder: Path) -> Iterator[Prepared]:
    """All tables; half of them wanted; half of them known."""
    state = SchemaState()
    for _, rows in schema_mutations(folder):
        state.apply(deltas(rows))
    known = {**builtin_definitions(), **state.definitions}
    some = sorted(known)[::2]
    unread = system_tables().keys() - known.keys()
    yield prepare(known, known.keys(), unread=unread)
    yield prepare(known, some, unread=unread)
    yield prepare({name: known[name] for name in some}, some[::2], unread=known.keys() - set(some))
    yield prepare({name: known[name] for name in some}, some, unread=unread)


def _sections(folder: Path) -> Iterator[bytes]:
    told = folder / "encryption.json"
    key = bytes.fromhex(json.loads(told.read_text())["key_hex"]) if told.exists() else None
    for log in sorted((folder / "cdc_raw").glob("*.log")):
        name = parse_log_name(log.name)
        assert name is not None
        with SegmentFile(log, name.segment, lambda alias: key) as file:
            header = file.header()
            if header is None:
                continue
            for section in file.sections(header.length, header.length):
                if isinstance(section, NoSection):
                    break
                try:
                    yield file.plain(section)
                except CorruptError:
                    break
