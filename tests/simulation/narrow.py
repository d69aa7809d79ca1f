"""A consumer of some tables, which may be others in each run, with masks that stay."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.simulation.consumers import Reader, ViolationError
from tests.simulation.encoded import KEYSPACE
from tests.simulation.logged import Ledger

ALWAYS: Final = "wide"
OTHERS: Final = ("counted", "flat")
LEFT_OUT: Final = "a"
NULL: Final = "b"
"""Columns of the table that is always wanted."""


class Narrow(Reader):
    """Of the table that is always wanted it has each row once, in order; of another one all from the first to the last
    that a run comes by."""

    def __init__(self, name: str, folder: Path, ledger: Ledger, random: Random, **options: Any) -> None:
        """`random`: which tables each run has."""
        masks = {
            "mask": (f"{KEYSPACE}.{ALWAYS}.{NULL}=null",),
            "exclude": (f"{KEYSPACE}.{ALWAYS}.{LEFT_OUT}",),
        }
        super().__init__(name, folder, ledger, masks_may_come=True, **masks, **options)
        self._ledger, self._random = ledger, random
        self._always = ALWAYS
        self._tables: frozenset[str] = frozenset()
        self._next = 0
        """No row before that one of the table that is always wanted is missing."""

    def run(self) -> int:
        """One run: until it is killed, or ends with an exit code."""
        self._choose()
        return super().run()

    def _choose(self) -> None:
        """The tables of this run."""
        others = self._random.sample(OTHERS, self._random.randint(0, len(OTHERS)))
        self._tables = frozenset((ALWAYS, *others))
        # By patterns: by its exact name a table is taken also while it does not capture.
        self._options["tables"] = tuple(f"{KEYSPACE}.{name[:-1]}?" for name in sorted(self._tables))

    def _take(self, row: dict[str, Any], at: int | None) -> int:
        number = self._number_of(row)
        if self._table_of(row) not in self._tables:
            raise ViolationError(f"{self.name} got a row of {self._table_of(row)}, and wants {sorted(self._tables)}")
        if at is None and not self._confirmed <= number:
            raise ViolationError(f"{self.name} goes on with row {number}; it had all before {self._confirmed}")
        if at is None and (missed := self._ledger.first_of_tables({self._always}, self._next, number)) is not None:
            raise ViolationError(f"{self.name} goes on with row {number} and lacks row {missed}")
        if at is not None and (missed := self._ledger.first_of_tables(self._tables, at, number)) is not None:
            raise ViolationError(f"{self.name} got row {number} behind {at - 1} and lacks row {missed}")
        self._in_vain = 0
        self._next = max(self._next, number + 1)
        self.taken = max(self.taken, number + 1)
        return number + 1

    def _number_of(self, row: dict[str, Any]) -> int:
        return self._ledger.number_of(row, self._masked)

    def _table_of(self, row: dict[str, Any]) -> str:
        return str(row["table"])

    def _masked(self, expected: dict[str, Any]) -> dict[str, Any]:
        if expected["table"] != ALWAYS:
            return expected
        shown = {name: self._without(expected[name], {LEFT_OUT}) for name in ("columns", "cells")}
        if shown["columns"] is not None:
            columns = json.loads(shown["columns"])
            shown["columns"] = _json({name: None if name == NULL else value for name, value in columns.items()})
        return {**expected, **shown, "cells": None if shown["cells"] == "{}" else shown["cells"]}

    @staticmethod
    def _without(text: str | None, names: set[str]) -> str | None:
        return None if text is None else _json({k: v for k, v in json.loads(text).items() if k not in names})

    def has_all(self) -> bool:
        return self._ledger.first_of_tables({self._always}, self._next, self._ledger.count()) is None

    def check_end(self) -> None:
        missed = self._ledger.first_of_tables({self._always}, self._next, self._ledger.count())
        if missed is not None:
            last = self.errors[-1] if self.errors else "no error was reported"
            raise ViolationError(f"{self.name} lacks row {missed} and what comes behind it; {last}")


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
