"""Makes `tailer/demo/recording/` from a recorded set: `python tests/demo/make_recording.py UNPACKED_SET`.

The set is `50-live`: the first three segments that its server filled, with the section edges found by their markers,
and the header of the spare that stood ahead of the last one. Shares no code with `tailer`.
"""

from __future__ import annotations

import json
import lzma
import struct
import sys
import zlib
from pathlib import Path

MARKER = struct.Struct(">II")
HEADER_LENGTH = 20  # an uncompressed segment's header: version, id, "{}", CRC
USED = 3
TARGET = Path(__file__).parents[2] / "tailer" / "demo" / "recording"


def section_edges(data: bytes, segment: int) -> list[int]:
    """File offsets of all section edges: the header's end, then the end of each section whose marker checks."""
    edges = [HEADER_LENGTH]
    while edges[-1] + MARKER.size <= len(data):
        end, crc = MARKER.unpack_from(data, edges[-1])
        if crc != zlib.crc32(struct.pack(">III", segment & 0xFFFFFFFF, segment >> 32, edges[-1])):
            break
        edges.append(end)
    return edges


def describe(log: Path, first_published: int | None) -> dict[str, object]:
    data = log.read_bytes()
    edges = section_edges(data, int(log.stem.split("-")[2])) if first_published is not None else [HEADER_LENGTH]
    kept = data[: edges[-1]]
    (TARGET / f"{log.name}.xz").write_bytes(lzma.compress(kept, preset=9 | lzma.PRESET_EXTREME))
    return {"name": log.name, "size": len(data), "edges": edges, "first_published": first_published}


def main(folder: Path) -> None:
    meta = json.loads((folder / "meta.json").read_text())
    first: dict[str, int] = {}
    for _, name, text in meta["idx_timeline [ms, file, content]"]:
        if text:
            first.setdefault(name.replace("_cdc.idx", ".log"), int(text.split("\n")[0]))
    last_stage = max((folder / "live").iterdir())
    logs = sorted(last_stage.glob("*.log"))[:USED]
    spare = folder / "live" / "18" / f"CommitLog-7-{int(logs[-1].stem.split('-')[2]) + 1}.log"
    TARGET.mkdir(exist_ok=True)
    manifest = {
        "cassandra": meta["version"],
        "segments": [describe(log, first[log.name]) for log in logs] + [describe(spare, None)],
    }
    (TARGET / "recording.json").write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
