#!/usr/bin/env python3
"""Reads every recorded log with two checkouts of this project and compares what comes out, byte for byte.

    scripts/compare_rows.py BEFORE AFTER [--sets FOLDER] [--only GLOB] [--form compiled] [--python PATH]

Every folder of every set is read whole and, in the typed form, once for each table that has rows, with the compiled
code and with the plain reader (`--form`: with one of them). Columns with their types and values, notices and errors
must be the same; how rows are cut into batches may differ. One line a set; exit 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.row_differences import Difference, first_difference, first_row
from tests.helpers.sets import key_options, unpack

if TYPE_CHECKING:
    from scripts.read_rows import Folder, Reading

READER: Final = Path(__file__).with_name("read_rows.py")
FORMS: Final = {"compiled": "1", "plain": "0"}
"""What CDC_TAIL_JIT says for each form of the reader."""

PARTS: Final = ("cdc_raw", "killed", "live/*", "stages/*")

Sets = Mapping[str, Sequence["Folder"]]


def folders_of(set_dir: Path) -> list[Folder]:
    """The recorded folders of a set, each with what is needed to read it."""
    arguments, environment = key_options(set_dir)
    return [
        {
            "name": str(path.relative_to(set_dir.parent)),
            "path": str(path),
            "options": {"keystore": arguments[1]} if arguments else {},
            "environment": environment,
        }
        for part in PARTS
        for path in sorted(set_dir.glob(part))
        if path.is_dir()
    ]


@contextmanager
def reader(
    checkout: Path, form: str, python: str, sets: Sequence[Sequence[Folder]], *more: str
) -> Iterator[Iterator[list[Reading]]]:
    """A process that reads these sets with one checkout: the readings of one after the other."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "CDC_TAIL_JIT": FORMS[form]}
    with tempfile.TemporaryFile("w+") as asked:
        asked.writelines(json.dumps(folders) + "\n" for folders in sets)
        asked.seek(0)
        command = [python, "-P", str(READER), *more]
        process = subprocess.Popen(command, env=environment, stdin=asked, stdout=subprocess.PIPE, text=True)
    with process:
        try:
            yield _answers(process, checkout)
        finally:
            process.kill()


def _answers(process: subprocess.Popen[str], checkout: Path) -> Iterator[list[Reading]]:
    assert process.stdout is not None
    read_with = process.stdout.readline().strip()
    if read_with and not Path(read_with).is_relative_to(checkout):
        raise SystemExit(f"{read_with} would be read with, which is not in {checkout}")
    for line in process.stdout:
        yield json.loads(line)
    raise SystemExit(f"the reader of {checkout} ended with {process.wait()}")


def compare(checkouts: Sequence[Path], python: str, sets: Sets, forms: Sequence[str]) -> bool:
    """Whether both read the same in each of the reader's forms. Prints what there is, a line a set."""
    rows = count = different = 0
    with ExitStack() as stack:
        # All at once, so that each set is told as soon as it is read.
        pairs = {
            form: [stack.enter_context(reader(each, form, python, list(sets.values()))) for each in checkouts]
            for form in forms
        }
        for name in sets:
            read = {form: [next(answers) for answers in pair] for form, pair in pairs.items()}
            here = [reading for before, _ in read.values() for reading in before]
            found = {form: difference for form, pair in read.items() if (difference := first_difference(*pair))}
            told = "equal"
            if found:
                form, difference = next(iter(found.items()))
                told = f"{', '.join(found)}: {_told(difference, checkouts, form, python, sets[name])}"
            rows, count, different = rows + _rows(here), count + len(here), different + bool(found)
            print(f"{name}: {_rows(here):,} rows in {len(here)} readings, {told}", flush=True)
    print(f"{len(sets)} sets: {rows:,} rows in {count:,} readings, {different or 'none'} different")
    return not different


def _rows(readings: Sequence[Reading]) -> int:
    return sum(reading["count"] for reading in readings)


def _told(found: Difference, checkouts: Sequence[Path], form: str, python: str, folders: Sequence[Folder]) -> str:
    """A difference for a person; where it is in rows, with the first of them, for which its folder is read again."""
    told = f"{found.place}: {found.field}: {found.what}"
    if found.field not in ("count", "columns"):
        return told
    folder = next(each for each in folders if found.place.startswith(f"{each['name']}: "))
    rows = []
    for checkout in checkouts:
        with reader(checkout, form, python, [[folder]], "rows") as answers:
            rows.append(next(each["rows"] for each in next(answers) if each["place"] == found.place))
    return f"{told}; {first_row(*rows)}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Reads every recorded log with two checkouts and compares the rows.")
    parser.add_argument("before", metavar="BEFORE", type=Path)
    parser.add_argument("after", metavar="AFTER", type=Path)
    parser.add_argument("--sets", metavar="FOLDER", type=Path, help="unpacked sets; default: fixtures/, unpacked")
    parser.add_argument("--only", metavar="GLOB", default="*", help="names of sets; all of them take twenty minutes")
    parser.add_argument("--python", metavar="PATH", default=sys.executable, help="what to read with; default: this one")
    parser.add_argument("--form", choices=list(FORMS), action="append", help="of the reader; default: both")
    given = parser.parse_args(arguments)
    with ExitStack() as stack:
        root = given.sets or unpack(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cdc-tail-sets-"))))
        sets = {each.name: folders for each in sorted(root.resolve().glob(given.only)) if (folders := folders_of(each))}
        if not sets:
            parser.error(f"no recorded set {given.only} in {root}")
        both = [given.before.resolve(), given.after.resolve()]
        return 0 if compare(both, given.python, sets, given.form or list(FORMS)) else 1


if __name__ == "__main__":
    sys.exit(main())
