"""What version 1 left, written here by hand: it is gone on with, whatever is written today."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import cramjam

from tailer.sinks.outlet import OutletKey, Place
from tests.helpers.data_files import lines_of, outlet, place, rows
from tests.helpers.shipping import ship

LINE = b'{"node":"n1","keyspace":"shop","table":"orders","columns":{"v":1}}\n'
DATA = bytes(cramjam.zstd.compress(LINE))
DIGEST = hashlib.sha256(DATA).hexdigest()
BEFORE = "ab" * 32
OFFSET = '{"j":3,"s":1700000000001,"o":69736,"done":false,"p":[],"id":"5f4e"}'
INDEX = (
    '{"v":1,"number":7,"data":"data-000000000007.jsonl.zst","rows":1,"bytes":LENGTH,"sha256":"DIGEST",'
    '"previous":"BEFORE","format":"rows","typed":null,"tables":[{"table":"shop.orders","id":"5a1ff267-ace0-3f12-8563-cfae6103c65e","rows":1,'
    '"definition":{"id":"5a1ff267ace03f128563cfae6103c65e","keyspace":"shop","table":"orders","columns":'
    '[{"name":"id","kind":"partition_key","type":"int","position":0},{"name":"v","kind":"regular","type":"int"}]}}],'
    '"offset":OFFSET,"generation":2,"key":{"folder":"5f4e","node":"n1","consumer":"billing"},"made":1795404841.041}\n'
)
for name, value in {"LENGTH": len(DATA), "DIGEST": DIGEST, "BEFORE": BEFORE, "OFFSET": OFFSET}.items():
    INDEX = INDEX.replace(name, str(value))
SHIPPER = (
    '{"name":"ship","to":"files:/somewhere","nodes":{"n1":{"since":4,"upto":6,"sha256":"BEFORE"}},"moved":1795404841.041,'
    '"host":"node","v":1}\n'
).replace("BEFORE", BEFORE)


def kept(folder: Path) -> None:
    state = folder / ".cdc_tail" / "consumers"
    state.mkdir(parents=True)
    (folder / "n1").mkdir()
    (folder / "n1" / "data-000000000007.jsonl.zst").write_bytes(DATA)
    (folder / "n1" / "data-000000000007.idx.json").write_text(INDEX)
    (state / "ship.json").write_text(SHIPPER)


def test_a_follower_goes_on(tmp_path: Path) -> None:
    kept(tmp_path)
    out = outlet(tmp_path, key=OutletKey("5f4e", "n1", "billing"))
    assert out.open() == Place(OFFSET, 2)
    out.write(rows(2))
    out.commit(Place(OFFSET, 2), place(2, 2))
    out.close()
    assert [row["columns"]["v"] for row in lines_of(tmp_path / "n1")] == [1, 2]


def test_a_shipper_goes_on(tmp_path: Path) -> None:
    kept(tmp_path / "out")
    (tmp_path / "two" / "n1").mkdir(parents=True)
    before = INDEX.replace('"number":7', '"number":6').replace("000007", "000006")
    (tmp_path / "two" / "n1" / "data-000000000006.idx.json").write_text(before)
    assert ship(tmp_path / "out", f"files:{tmp_path / 'two'}") == 1
    assert (tmp_path / "two" / "n1" / "data-000000000007.jsonl.zst").read_bytes() == DATA
    held = json.loads((tmp_path / "out" / ".cdc_tail" / "consumers" / "ship.json").read_text())
    assert held["nodes"] == {"n1": {"since": 4, "upto": 7, "sha256": DIGEST}}
