"""As the package `lmdb`, as far as the product uses it, with its file on the simulated disk.

A commit is atomic, and durable when it returns, whatever call its process is killed before and whenever the power goes.
Who reads has the newest commit of its beginning. A transaction fails where the map is full, its commit where the disk
is; what was committed before stays. `test_lmdb_model.py` holds this to the real one.

The file has two heads, which commits write in turn, and behind them the whole content of each: a model of small states.
"""

from __future__ import annotations

import errno
import os
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import lmdb
import msgspec

MAP_SCALE: Final = 1 << 12
"""A map is so many times smaller than the product asks for: states of histories are small, and it shall be full."""

KEY_MAX: Final = 511
_HEAD: Final = struct.Struct(">QQQI")
_HEAD_AT: Final = (0, 4096)
_CONTENT_AT: Final = 8192

Content = dict[bytes, dict[bytes, bytes]]
"""By database what is in it."""


class _Database:
    """What `open_db` gives."""

    def __init__(self, name: bytes) -> None:
        self.name = name


@dataclass(frozen=True)
class _Commit:
    """`at` and `length`: of its content in the file."""

    number: int
    content: Content
    at: int
    length: int


_NONE: Final = _Commit(0, {}, _CONTENT_AT, 0)


class Environment:
    """As `lmdb.Environment`; `path` is a folder."""

    def __init__(
        self, path: str, *, map_size: int, max_dbs: int, mode: int = 0o755, readonly: bool = False, create: bool = True,
        max_readers: int = 126,
    ) -> None:  # fmt: skip
        self._map_size, self._max_dbs = map_size, max_dbs
        self._broken = False
        self._cached = _NONE
        if create:
            Path(path).mkdir(exist_ok=True)
        flags = os.O_RDONLY if readonly else os.O_RDWR | (os.O_CREAT if create else 0)
        try:
            self._file = os.open(f"{path}/data.mdb", flags | os.O_CLOEXEC, mode)
        except OSError as error:
            raise _as_lmdb("open", error) from error

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def info(self) -> dict[str, int]:
        return {"map_size": self._map_size}

    def set_mapsize(self, map_size: int) -> None:
        self._map_size = map_size

    def begin(self, write: bool = False) -> Transaction:
        if self._broken:
            raise lmdb.PanicError("mdb_txn_begin: MDB_PANIC: Update of meta page failed or environment had fatal error")
        return Transaction(self, self._newest(), write)

    def open_db(self, key: bytes, txn: Transaction | None = None, *, create: bool = True) -> _Database:
        if txn is None:
            with self.begin(write=create) as own:
                return self.open_db(key, own, create=create)
        if key not in txn.content:
            if not create:
                raise lmdb.NotFoundError("mdb_dbi_open: MDB_NOTFOUND: No matching key/data pair found")
            if len(txn.content) >= self._max_dbs:
                raise lmdb.DbsFullError("mdb_dbi_open: MDB_DBS_FULL: Environment maxdbs limit reached")
            txn.changed(key)
        return _Database(key)

    def map_bytes(self) -> int:
        """So much fits in."""
        return self._map_size // MAP_SCALE

    def _newest(self) -> _Commit:
        try:
            heads = [os.pread(self._file, _HEAD.size, at) for at in _HEAD_AT]
        except OSError as error:
            raise _as_lmdb("mdb_txn_begin", error) from error
        if not any(heads):
            return _NONE
        told = [found for head in heads if (found := _told(head)) is not None]
        if not told:
            raise lmdb.InvalidError("MDB_INVALID: File is not an LMDB file")
        number, at, length = max(told)
        if number != self._cached.number:
            data = os.pread(self._file, length, at)
            if len(data) != length:
                raise lmdb.CorruptedError("MDB_CORRUPTED: Located page was wrong type")
            pairs = msgspec.msgpack.decode(data, type=list[tuple[bytes, dict[bytes, bytes]]])
            self._cached = _Commit(number, dict(pairs), at, length)
        return self._cached

    def commit(self, before: _Commit, content: Content) -> None:
        """Write it behind or before what stands, then its head."""
        data = msgspec.msgpack.encode([*content.items()])
        behind = -(-(before.at + before.length) // 4096) * 4096
        at = _CONTENT_AT if _CONTENT_AT + len(data) <= before.at else behind
        made = _Commit(before.number + 1, content, at, len(data))
        try:
            self._write(data, at)
            os.fdatasync(self._file)
        except OSError as error:
            raise _as_lmdb("mdb_txn_commit", error) from error
        told = struct.pack(">QQQ", made.number, at, len(data))
        try:
            self._write(told + crc32(told).to_bytes(4, "big"), _HEAD_AT[made.number % 2])
            os.fdatasync(self._file)
        except OSError as error:
            # Nobody knows which of the two heads the disk has: the real one goes no further, too.
            self._broken = True
            raise _as_lmdb("mdb_txn_commit", error) from error
        self._cached = made

    def _write(self, data: bytes, at: int) -> None:
        if os.pwrite(self._file, data, at) < len(data):
            # As LMDB reports it.
            raise OSError(errno.EIO, os.strerror(errno.EIO))


def _told(head: bytes) -> tuple[int, int, int] | None:
    if len(head) < _HEAD.size:
        return None
    number, at, length, crc = _HEAD.unpack(head)
    return (number, at, length) if number and crc32(head[:-4]) == crc else None


def _as_lmdb(call: str, error: OSError) -> lmdb.Error:
    kinds = {errno.ENOSPC: lmdb.DiskError, errno.EACCES: lmdb.ReadonlyError, errno.EINVAL: lmdb.InvalidParameterError}
    made: lmdb.Error = kinds.get(error.errno or 0, lmdb.Error)(f"{call}: {error.strerror}")
    return made


class Transaction:
    """As `lmdb.Transaction`. `content`: what it sees."""

    def __init__(self, environment: Environment, before: _Commit, write: bool) -> None:
        self.content: Content = dict(before.content)
        self._environment, self._before, self._write = environment, before, write
        self._own: set[bytes] = set()
        self._done = False
        self._orders: dict[bytes, list[bytes]] = {}
        self._bytes = before.length

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.commit()
        else:
            self.abort()

    def commit(self) -> None:
        if self._done:
            return
        self._done = True
        if self._own:
            self._environment.commit(self._before, self.content)

    def abort(self) -> None:
        self._done = True

    def get(self, key: bytes, default: bytes | None = None, *, db: _Database) -> bytes | None:
        return self._held(db).get(key, default)

    def put(self, key: bytes, value: bytes, *, db: _Database) -> bool:
        if not 0 < len(key) <= KEY_MAX:
            raise lmdb.BadValsizeError("mdb_put: MDB_BAD_VALSIZE: Unsupported size of key/DB name/data")
        held = self.changed(db.name)
        self._bytes += len(key) + len(value) - len(held.get(key, b""))
        if self._bytes > self._environment.map_bytes():
            raise lmdb.MapFullError("mdb_put: MDB_MAP_FULL: Environment mapsize limit reached")
        if key not in held:
            self._orders.pop(db.name, None)
        held[bytes(key)] = bytes(value)
        return True

    def delete(self, key: bytes, *, db: _Database) -> bool:
        if key not in self._held(db):
            return False
        held = self.changed(db.name)
        self._bytes -= len(key) + len(held.pop(key))
        self._orders.pop(db.name, None)
        return True

    def cursor(self, db: _Database) -> Cursor:
        return Cursor(self, db)

    def stat(self, db: _Database) -> dict[str, int]:
        return {"entries": len(self._held(db))}

    def changed(self, name: bytes) -> dict[bytes, bytes]:
        """A database that this transaction changes: a copy of its own."""
        self._check()
        if not self._write:
            raise lmdb.ReadonlyError("mdb_put: Permission denied")
        if name not in self._own:
            self._own.add(name)
            self.content[name] = dict(self.content.get(name, {}))
        return self.content[name]

    def order(self, db: _Database) -> Sequence[bytes]:
        """Its keys in order."""
        held = self._held(db)
        if db.name not in self._orders:
            self._orders[db.name] = sorted(held)
        return self._orders[db.name]

    def _held(self, db: _Database) -> Mapping[bytes, bytes]:
        self._check()
        return self.content[db.name]

    def _check(self) -> None:
        if self._done:
            raise lmdb.BadTxnError("MDB_BAD_TXN: Transaction must abort, has a child, or is invalid")


class Cursor:
    """As `lmdb.Cursor`: at a key, or nowhere."""

    def __init__(self, transaction: Transaction, db: _Database) -> None:
        self._transaction, self._db = transaction, db
        self._key = b""

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing of it stays."""

    def first(self) -> bool:
        return self._at(0)

    def last(self) -> bool:
        return self._at(len(self._transaction.order(self._db)) - 1)

    def set_range(self, key: bytes) -> bool:
        return self._at(bisect_left(self._transaction.order(self._db), key))

    def next(self) -> bool:
        return self._at(bisect_right(self._transaction.order(self._db), self._key) if self._key else 0)

    def key(self) -> bytes:
        return self._key

    def value(self) -> bytes:
        return self._transaction.get(self._key, b"", db=self._db) or b""

    def item(self) -> tuple[bytes, bytes]:
        return self._key, self.value()

    def delete(self) -> bool:
        """What it is at; then it is at the next one."""
        if not self._key:
            return False
        at = bisect_left(self._transaction.order(self._db), self._key)
        self._transaction.delete(self._key, db=self._db)
        self._at(at)
        return True

    def getmulti(self, keys: Iterable[bytes]) -> list[tuple[bytes, bytes]]:
        held = ((key, self._transaction.get(key, db=self._db)) for key in keys)
        return [(key, value) for key, value in held if value is not None]

    def putmulti(self, items: Iterable[tuple[bytes, bytes]]) -> tuple[int, int]:
        put = [self._transaction.put(key, value, db=self._db) for key, value in items]
        return len(put), len(put)

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        there = bool(self._key) or self.first()
        while there:
            yield self.item()
            there = self.next()

    def _at(self, number: int) -> bool:
        order: Any = self._transaction.order(self._db)
        self._key = order[number] if 0 <= number < len(order) else b""
        return bool(self._key)
