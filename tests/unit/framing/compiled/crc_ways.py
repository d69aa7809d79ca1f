"""A process that computes CRCs in every compiled way: `python -m tests.unit.framing.compiled.crc_ways`.

It compiles functions of its own, which is done only where no code is kept: CRC_WAYS names an empty folder. Each line of
input asks (way, data in hex, the CRC before, from, to), each line of output answers.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np

from tailer.jit import store
from tailer.jit.addresses import address_of

store.BESIDE = Path(os.environ["CRC_WAYS"])  # type: ignore[misc]
store.CARRIED = store.BESIDE / "none"  # type: ignore[misc]
store.folders = lambda: [store.BESIDE]

from tailer.framing.compiled import blocks, crc  # noqa: E402
from tailer.jit.decorators import entry_point  # noqa: E402

ALL = 0xFFFFFFFF


@entry_point
def by_tables(tables: int, state: int, base: int, at: int, end: int) -> int:
    return np.int64(crc.crc_by_tables(tables, np.uint64(state), base, at, end))  # type: ignore[return-value]


@entry_point
def four_by_tables(tables: int, state: int, base: int, at: int, end: int) -> int:
    return np.int64(crc.four_by_tables(tables, np.uint64(state), base, at))  # type: ignore[return-value]


WAYS = {"tables": by_tables, "four tables": four_by_tables}

if blocks.CAN_MULTIPLY:

    @entry_point
    def by_folding(tables: int, state: int, base: int, at: int, end: int) -> int:
        return np.int64(crc.crc_by_folding(tables, np.uint64(state), base, at, end))  # type: ignore[return-value]

    @entry_point
    def four_by_folding(tables: int, state: int, base: int, at: int, end: int) -> int:
        return np.int64(crc.four_by_folding(tables, np.uint64(state), base, at))  # type: ignore[return-value]

    WAYS |= {"folding": by_folding, "four folding": four_by_folding}


def main() -> None:
    tables = crc.crc_tables()
    print(json.dumps(sorted(WAYS)), flush=True)
    for line in sys.stdin:
        way, data, before, at, end = json.loads(line)
        held = np.frombuffer(bytes.fromhex(data), np.uint8)
        found = WAYS[way](address_of(tables), before ^ ALL, address_of(held), at, end)
        print(found & ALL ^ ALL, flush=True)


if __name__ == "__main__":
    main()
