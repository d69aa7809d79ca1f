"""`python -m tests.server.cluster.hour --minutes 60 --folder build/hour`; with `--check-only` the checks alone."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.server.cluster.hour.report import report
from tests.server.cluster.hour.run import Hour

RATE = 9.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.server.cluster.hour", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/hour"), help="where everything is kept")
    parser.add_argument("--minutes", type=float, default=60.0, help="how long nodes and consumers are broken")
    parser.add_argument("--rate", type=float, default=RATE, help="requests a second")
    parser.add_argument("--check-only", action="store_true", help="check a folder that is there")
    given = parser.parse_args()
    folder: Path = given.folder.resolve()
    if not given.check_only:
        Hour(folder, given.minutes, given.rate).run()
    return 1 if report(folder) else 0


if __name__ == "__main__":
    sys.exit(main())
