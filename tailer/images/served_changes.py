"""Served rows out of change rows with `op` = `snapshot`: the other way round than `snapshot.change_row`. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tailer.images.facts import Fact
from tailer.images.guesses import guessed_marker
from tailer.images.served import ServedRow, ServedRows
from tailer.rebuild.changes import changed
from tailer.rebuild.facts import Kind
from tailer.rebuild.table import Plan

_LIVE = int(Kind.LIVE)


def served_rows(changes: Iterable[Mapping[str, Any]], plan: Plan) -> dict[bytes, ServedRows]:
    """By partition the rows that a server has. DefinitionError for one that does not fit the table's definition."""
    found: dict[bytes, dict[bytes, ServedRow]] = {}
    for change in changes:
        made = changed(change, plan)
        assert made is not None, "it is of one row"
        clustering = made.facts[0].stamp.clustering
        facts = [Fact.of(fact) for fact in made.facts]
        if facts[-1].kind == _LIVE and len(facts) > 1:
            # Where something else keeps it, nobody can tell whether the row was inserted.
            facts[-1] = guessed_marker(*facts[-1][4:])
        found.setdefault(made.partition, {})[made.row] = ServedRow(made.row, clustering, facts)
    return dict(found)
