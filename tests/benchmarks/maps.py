"""Does a map whose keys are out of order cost more a key when it has more of them?

Segments of one table with one frozen map a row, the same number of keys in all: few maps of many keys, many maps of
few, the keys in order and shuffled (a client may bind them in any order, and the log has them as they came). The range
reader as in `decode.py`, typed and generic, warm and on one core: time a key.

    python -m tests.benchmarks.maps --keep                                        # under a minute
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.decoding import FORM_NAMES, Decoding, Form, to_arrow, warm_up, works
from tests.benchmarks.measured import figure, interleaved, pin, rate, ratio, rounded, summed
from tests.benchmarks.script import Begun, publish, script_parser
from tests.benchmarks.shape_logs import Shape, row_of, shape_of, shape_table, write
from tests.helpers.log_writer import Column, i32

NAME = "maps"
QUESTION = "Does a map whose keys are out of order cost more a key when it has more of them?"
TARGETS = {"many_to_few": 1.5}
KEYS = (4, 24, 96, 384)
FEW, MANY = 24, 384
MEASURED: tuple[Form, ...] = ("typed", "arrow")


def shape(keys: int, distinct: int, *, shuffled: bool) -> Shape:
    """A row is a map of so many keys; `distinct`: keys in all different rows together."""
    table = shape_table(20, Column("scores", "regular", "frozen<map<text, int>>"))
    chance = random.Random(keys)

    def one(number: int) -> bytes:
        order = list(range(keys))
        if shuffled:
            chance.shuffle(order)
        pairs = ((b"key %04d" % key, i32(number + key)) for key in order)
        value = i32(keys) + b"".join(i32(len(part)) + part for pair in pairs for part in pair)
        return row_of(table, number, {"scores": value})

    return shape_of(table, one, max(2, distinct // keys))


def run(rounds: int, size: int, distinct: int) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, rounds)
    pin(0)
    compiled = warm_up()
    with tempfile.TemporaryDirectory() as name:
        cases = dict(_cases(Path(name), size, distinct))
        interleaved(cases, 1)
        found = interleaved(cases, rounds)
    keys = {case: decoding.rows * int(case.split()[0]) for case, decoding in cases.items()}
    per_key = {case: [seconds / keys[case] for seconds in values] for case, values in found.items()}
    return begun.result(
        compiled=compiled,
        keys=keys,
        seconds=summed(found),
        figures=list(figures(found, keys, per_key)),
        runs=rounded(found),
    )


def _cases(parent: Path, size: int, distinct: int) -> Iterator[tuple[str, Decoding]]:
    for keys in KEYS:
        for order in ("in order", "shuffled"):
            made = shape(keys, distinct, shuffled=order == "shuffled")
            folder = write(made, parent / f"{keys}-{order[:2]}", size)
            for form in MEASURED:
                yield (
                    f"{keys} {order} {form}",
                    Decoding(works(folder, made.typed if form == "typed" else None)[-1], to_arrow),
                )


def figures(
    found: Mapping[str, Sequence[float]], keys: Mapping[str, int], per_key: Mapping[str, Sequence[float]]
) -> Iterator[dict[str, Any]]:
    """The lines of the table."""
    for form in MEASURED:
        for order in ("in order", "shuffled"):
            for count in KEYS:
                case = f"{count} {order} {form}"
                what = f"maps of {count} keys {order}: {FORM_NAMES[form]}"
                yield figure(what, "rows/s", rate(found, case, keys[case] / count))
        dearer = ratio(per_key, f"{MANY} shuffled {form}", f"{FEW} shuffled {form}")
        what = f"{MANY} keys shuffled: {FORM_NAMES[form]}, a key"
        yield figure(what, f"× {FEW} keys", dearer, at_most=TARGETS["many_to_few"])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = script_parser(NAME, QUESTION, 9)
    parser.add_argument("--mib", type=float, default=4.0, help="plain MiB of each segment (default: %(default)s)")
    parser.add_argument("--distinct", type=int, default=40_000, help="keys in different rows (default: %(default)s)")
    chosen = parser.parse_args(arguments)
    publish(run(chosen.repeat, int(chosen.mib * (1 << 20)), chosen.distinct), chosen.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
