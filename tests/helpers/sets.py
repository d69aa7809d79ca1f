"""The recorded sets: where they are, which folders they hold, and copies of those for one reading each.

`python -m tests.helpers.sets FOLDER` unpacks them all there.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ARCHIVES = Path(__file__).parents[2] / "fixtures" / "cassandra"

CASES = ("50-cases", "50-cases-v8", "41-cases", "40-cases")
PLAIN = (*CASES, "50-direct", "50-batch-sync", "50-group-sync", "50-torn")
"""Sets of one folder whose bytes are neither compressed nor encrypted."""
FRAMED = ("50-lz4", "50-snappy", "50-deflate", "50-zstd", "50-aes", "41-lz4", "40-aes", "50-killed-lz4")
STAGES = {
    "50-live": 26,
    "41-lz4-live": 24,
    "50-crash": 5,
    "40-crash": 5,
    "50-lz4-crash": 5,
    "50-crash-gap": 11,
    "50-nonblocking": 13,
    "50-cap": 10,
}


@dataclass(frozen=True)
class Place:
    """One recorded folder: `cdc_raw` or `killed` of a set, or its stage of that number."""

    set: str
    part: str | int = "cdc_raw"

    def __str__(self) -> str:
        return f"{self.set}/{self.part:02d}" if isinstance(self.part, int) else f"{self.set}/{self.part}"

    def folder(self, root: Path) -> Path:
        if isinstance(self.part, str):
            return root / self.set / self.part
        return stage_folders(root / self.set)[self.part]

    def commitlog(self, root: Path) -> list[str] | None:
        """Names in the server's commit log directory at that moment, None where that is not known."""
        if isinstance(self.part, str):
            return None
        stages: dict[str, dict[str, Any]] = json.loads((root / self.set / "meta.json").read_text())["stages"]
        held = stages[self.folder(root).name].get("commitlog")
        return None if held is None else list(held)


def stage_folders(set_dir: Path) -> list[Path]:
    parent = set_dir / "live"
    return sorted((parent if parent.exists() else set_dir / "stages").iterdir())


def stages(name: str) -> list[Place]:
    return [Place(name, number) for number in range(STAGES[name])]


def folders() -> list[Place]:
    """Every folder of every set."""
    single = [Place(name) for name in (*PLAIN, *FRAMED)] + [Place("50-killed-lz4", "killed")]
    return single + [place for name in STAGES for place in stages(name)]


def unpack(into: Path) -> Path:
    for archive in sorted(ARCHIVES.glob("*.tar.xz")):
        extract(archive, into)
    return into


def extract(archive: Path, into: Path) -> None:
    """Unpacks one of our archives; with the filter for data where Python has it (not before 3.11.4)."""
    with tarfile.open(archive) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(into)


def copy_folder(source: Path, target: Path) -> None:
    """A copy as a reader may meet it: its own files, link count 1."""
    target.mkdir(parents=True)
    for file in source.iterdir():
        shutil.copyfile(file, target / file.name)


def link_commitlog(folder: Path, names: list[str]) -> None:
    """Give the logs of `folder` that the server still holds their second name, in `commitlog/` beside it."""
    beside = folder.with_name("commitlog")
    beside.mkdir(exist_ok=True)
    for old in beside.iterdir():
        old.unlink()
    for name in names:
        if (folder / name).exists():
            os.link(folder / name, beside / name)


def key_options(set_dir: Path) -> tuple[list[str], dict[str, str]]:
    """Options and environment that an encrypted set needs; nothing for the others."""
    told = set_dir / "encryption.json"
    if not told.exists():
        return [], {}
    facts = json.loads(told.read_text())
    passwords = {
        "CDC_TAIL_KEYSTORE_PASSWORD": facts["keystore_password"],
        "CDC_TAIL_KEY_PASSWORD": facts["key_password"],
    }
    return ["--keystore", str(set_dir / facts["keystore"])], passwords


if __name__ == "__main__":
    unpack(Path(sys.argv[1]))
