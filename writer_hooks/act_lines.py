"""Lines of JSON, one act each, into a log: what `cdc-tail write` reads. Knows no file but the log.

    {"table": "shop.orders", "op": "insert", "values": {"id": 1, "line": 1, "article": "tea"}, "ttl": 60}
    {"op": "begin", "txn": "a"}
    {"table": "shop.orders", "values": {…}, "deltas": {"tags": {"put": ["x"], "removed": ["y"]}}, "txn": "a"}
    {"op": "commit", "txn": "a"}

`op`: insert (the default), update, replace, delete, delete_partition, delete_range (`start`, `end`: arrays of values of
clustering columns; `start_inclusive`, `end_inclusive`); begin, commit, rollback; savepoint, rollback_to (`name`). A
change may have `ttl`, `write_ts` (µs) and `attrs`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from tailer.errors import CdcError, UsageError
from tailer.types.read_json import read_json
from writer_hooks.cell_arrays import Delta

if TYPE_CHECKING:
    from writer_hooks.change import Change
    from writer_hooks.declared_table import Table
    from writer_hooks.log import SegmentLog
    from writer_hooks.ticket import Ticket
    from writer_hooks.transaction import Transaction

_WRITES: Final = ("insert", "update", "replace")
_DELETES: Final = ("delete", "delete_partition")
_CHANGE_KEYS: Final = {"op", "table", "values", "txn", "write_ts", "attrs"}
_RANGE_KEYS: Final = {"start", "end", "start_inclusive", "end_inclusive"}
_TRANSACTIONS: Final = {
    "begin": {"op", "txn"},
    "commit": {"op", "txn"},
    "rollback": {"op", "txn"},
    "savepoint": {"op", "txn", "name"},
    "rollback_to": {"op", "txn", "name"},
}
_OPS: Final = (*_WRITES, *_DELETES, "delete_range", *_TRANSACTIONS)


class LineWriter:
    """Takes lines into a log. Transactions that no line has ended are rolled back with the log's close."""

    def __init__(self, log: SegmentLog, tables: Mapping[str, Table]) -> None:
        self._log = log
        self._tables = tables
        self._open: dict[str, Transaction] = {}

    def write(self, line: str, number: int) -> Ticket | None:
        """Take one line; the ticket of what it makes durable, None for what only counts with a later commit.

        UsageError, with the line's number, for what is no act; the log is as it was then.
        """
        act = _read(line, number)
        op = str(act.get("op", "insert"))
        try:
            if op in _TRANSACTIONS:
                _only(act, _TRANSACTIONS[op])
                return self._transact(op, act)
            return self._append(self._change(op, act, line), act.get("txn"))
        except CdcError as error:
            error.tell(f"line {number}")
            raise

    def _append(self, change: Change, txn: Any) -> Ticket | None:
        if txn is None:
            return self._log.append(change)
        self._transaction(txn).append(change)
        return None

    def _transact(self, op: str, act: Mapping[str, Any]) -> Ticket | None:
        txn = _text(act, "txn")
        if op == "begin":
            if txn in self._open:
                raise UsageError(f"the transaction {txn} is open already", remedy="Commit it, or take another name.")
            self._open[txn] = self._log.begin()
            return None
        transaction = self._transaction(txn)
        if op == "savepoint":
            transaction.savepoint(_text(act, "name"))
        elif op == "rollback_to":
            transaction.rollback_to(_text(act, "name"))
        elif op == "rollback":
            self._open.pop(txn).rollback()
        else:
            return self._open.pop(txn).commit()
        return None

    def _transaction(self, txn: Any) -> Transaction:
        found = self._open.get(str(txn))
        if found is None:
            raise UsageError(f"there is no open transaction {txn}", remedy='Begin it: {"op": "begin", "txn": …}.')
        return found

    def _change(self, op: str, act: Mapping[str, Any], line: str) -> Change:
        table = self._table(act)
        values = _object(act, "values")
        own: dict[str, Any] = {"write_ts": _number(act, "write_ts"), "attrs": _attrs(act, line)}
        if op in _WRITES:
            _only(act, _CHANGE_KEYS | {"ttl", "deltas"})
            given = {**values, **_deltas(act)}
            write: Callable[..., Change] = getattr(table, op)
            return write(given, ttl=_number(act, "ttl"), **own)
        if op in _DELETES:
            _only(act, _CHANGE_KEYS)
            delete: Callable[..., Change] = getattr(table, op)
            return delete(values, **own)
        if op != "delete_range":
            raise UsageError("op", expected=", ".join(_OPS), found=repr(op))
        _only(act, _CHANGE_KEYS | _RANGE_KEYS)
        return table.delete_range(values, **{key: act[key] for key in _RANGE_KEYS & act.keys()}, **own)

    def _table(self, act: Mapping[str, Any]) -> Table:
        name = _text(act, "table")
        if name not in self._tables:
            raise UsageError(
                "a table that is not declared",
                expected=", ".join(sorted(self._tables)),
                found=name,
                remedy="Declare it in the CQL file of --schema.",
            )
        return self._tables[name]


def _read(line: str, number: int) -> dict[str, Any]:
    try:
        act = read_json(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"line {number} is no JSON", found=str(error), remedy="One object a line.") from None
    if not isinstance(act, dict):
        raise UsageError(f"line {number}", expected="a JSON object", found=f"{line.strip():.80}")
    return act


def _attrs(act: Mapping[str, Any], line: str) -> dict[str, Any] | None:
    """As JSON has them: attributes have no type that says how many digits a number needs."""
    if act.get("attrs") is None:
        return None
    _object(act, "attrs")
    try:
        attrs: dict[str, Any] = json.loads(line)["attrs"]
    except ValueError as error:
        # Of a number of thousands of digits Python makes none.
        raise UsageError("attrs", expected="numbers of up to 64 bits", found=str(error)) from None
    return attrs


def _deltas(act: Mapping[str, Any]) -> dict[str, Delta]:
    made = {}
    for name, delta in _object(act, "deltas").items():
        if not isinstance(delta, dict) or not delta.keys() <= {"put", "removed"}:
            raise UsageError(f"the delta of {name}", expected='{"put": …, "removed": […]}', found=json.dumps(delta))
        made[name] = Delta(delta.get("put", ()), delta.get("removed", ()))
    return made


def _object(act: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = act.get(key, {})
    if not isinstance(value, dict):
        raise UsageError(key, expected="a JSON object", found=f"{value!r:.80}")
    return value


def _text(act: Mapping[str, Any], key: str) -> str:
    value = act.get(key)
    if not isinstance(value, str) or not value:
        raise UsageError(key, expected="a name", found=repr(value))
    return value


def _number(act: Mapping[str, Any], key: str) -> int | None:
    value = act.get(key)
    if value is None:
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    raise UsageError(key, expected="a whole number", found=f"{value!r:.80}")


def _only(act: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(act.keys() - known)
    if unknown:
        raise UsageError(f"the key {unknown[0]}", expected=", ".join(sorted(known)), found=", ".join(act))
