"""The lines of data files that a consumer wrote with `--to files:`. No reader of the program under test reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import cramjam


def lines(folder: Path) -> Iterator[str]:
    """Of the data files of one node, by number. Files without an index are not finished and do not count."""
    for index in sorted(folder.glob("data-*.idx.json")):
        data = folder / index.name.replace(".idx.json", ".jsonl.zst")
        if data.exists():
            text = bytes(cramjam.zstd.decompress(data.read_bytes())).decode()
            yield from text.split("\n")[:-1]
