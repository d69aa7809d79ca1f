"""Makes a state with images and the targets of its consumers: `python -m tests.install.keep_targets TREE TAR`.

TREE: a checkout of the version that makes it. What it made stands in `tests/install/kept_targets/`, and every later
version must go on from there. The log is made by hand, the same each time (`tests.install.keep_state`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.install.keep_state import Log

LOG = "log/cdc_raw"
LOCKS = ("lock", "lock.mdb", "process")
MAIN = "import sys; from tailer.cli.app import main; sys.exit(main(sys.argv[1:]))"
_FOLLOW = ("follow", LOG, "--once", "--on-error", "quarantine", "--consumer")
COMMANDS: dict[str, tuple[str, ...]] = {
    "rows": (*_FOLLOW, "rows", "--to", "sqlite:rows.db", "--into", "changes"),
    "images": (*_FOLLOW, "images", "--image", "after", "--to", "sqlite:images.db", "--into", "changes"),
    "table": (*_FOLLOW, "table", "--image", "after", "--to", "sqlite:t.db", "--mode", "table", "--into", "{table}"),
    "files": (*_FOLLOW, "files", "--to", "files:out"),
    "delta": (*_FOLLOW, "delta", "--to", "delta:lake_table"),
    "ship": ("ship", "out", "--once", "--consumer", "lake", "--to", "files:lake"),
}
"""Each of a consumer of its own, all in one folder."""


def begin(folder: Path) -> Log:
    """The log with its first two segments and the third, still open."""
    log = Log(folder / LOG)
    log.finish(1, 2)
    log.grow()
    return log


def main(tree: Path, kept: Path) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        begin(folder)
        for name, command in COMMANDS.items():
            ran = subprocess.run(
                [sys.executable, "-c", MAIN, *command], cwd=folder, env={**os.environ, "PYTHONPATH": str(tree)},
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert ran.returncode == 0, (name, ran.stderr)
        with tarfile.open(kept, "w:xz") as tar:
            put_all(folder, tar)


def put_all(folder: Path, tar: tarfile.TarFile) -> None:
    """Everything but the log and locks."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.parent != folder / LOG and path.name not in LOCKS and path.suffix != ".lock":
            tar.add(path, path.relative_to(folder), filter=_nobody)


def _nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
