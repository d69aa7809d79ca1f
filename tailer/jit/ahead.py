"""Compiles ahead, in a process of its own: `python -m tailer.jit.ahead`, also for images and shared installs.

Only one process of a machine's user does it at a time, whoever started it; the others look now and then whether it is
done. `tailer.jit.store` says where the code is kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import IO, Final

from tailer.jit import store
from tailer.jit.store import WITHOUT

_NICE: Final = 10

COMPILED: Final = (
    ("tailer.scan.mutation.compiled.mutations", "scan_from"),
    ("tailer.scan.record.compiled.entries", "scan_from"),
    ("tailer.scan.record.compiled.kinds", "put_kinds"),
    ("tailer.framing.compiled.sections", "check_entries"),
    ("tailer.framing.compiled.sections", "check_parts"),
    ("tailer.framing.compiled.chain", "follow_chain"),
    ("tailer.framing.compiled.lz4", "unpack_all"),
    ("tailer.types.compiled.values", "write_value"),
    ("tailer.rows.generic.compiled.rows", "fill"),
    ("tailer.rows.generic.compiled.lines", "put_lines"),
    ("tailer.rows.generic.compiled.lines", "put_events"),
    ("tailer.rows.generic.compiled.lines", "put_picked"),
    ("tailer.rows.typed.compiled.straight", "find_straight"),
    ("tailer.rows.typed.compiled.straight", "put_keys"),
    ("tailer.rows.typed.compiled.decode", "put_fixed"),
    ("tailer.rows.typed.compiled.decode", "put_fixed_columns"),
    ("tailer.rows.typed.compiled.decode", "put_ends"),
    ("tailer.rows.typed.compiled.decode", "put_texts"),
    ("tailer.rows.typed.compiled.decode", "put_counters"),
    ("tailer.rows.typed.compiled.decimals", "put_decimals"),
    ("tailer.rows.typed.compiled.parts", "count_parts"),
    ("tailer.rows.typed.compiled.parts", "cut_parts"),
    ("tailer.rows.typed.compiled.parts", "cut_fields"),
    ("tailer.rows.typed.compiled.parts", "check_keys"),
    ("tailer.rows.typed.compiled.straight_multi", "straighten"),
    ("tailer.rows.typed.compiled.straight_multi", "put_elements"),
    ("tailer.rows.typed.compiled.straight_multi", "put_fields"),
    ("tailer.rows.typed.compiled.sparse_cells", "put_places"),
    ("tailer.rows.typed.compiled.sparse_cells", "real_slots"),
    ("tailer.rows.typed.compiled.sparse", "rows_by_slot"),
    ("tailer.rows.typed.compiled.sparse", "put_sparse"),
    ("tailer.rows.typed.compiled.sparse", "put_sparse_ends"),
    ("tailer.rows.typed.compiled.sparse", "put_sparse_texts"),
    ("tailer.rows.typed.compiled.deltas", "put_deltas"),
    ("tailer.rows.typed.compiled.events", "put_event_ids"),
    ("tailer.rows.typed.compiled.chosen", "put_chosen"),
    ("tailer.rows.typed.compiled.weave", "put_before"),
    ("tailer.rows.typed.compiled.weave", "weave"),
    ("tailer.rows.typed.compiled.weave", "weave_sets"),
    ("tailer.snapshot.compiled.split", "split_values"),
    ("tailer.images.compiled.lines", "put_lines"),
    ("tailer.image_state.compiled.keys", "put_keys"),
    ("tailer.image_state.compiled.merge", "find_news"),
    ("tailer.image_state.compiled.merge", "merge_all"),
    ("tailer.image_state.compiled.served_keys", "find_partitions"),
    ("tailer.image_state.compiled.whole", "find_broken"),
    ("tailer.image_state.compiled.served", "serve_all"),
)
"""Every function that Python calls compiled. By name: those who call some of them stand above this folder."""

COMMAND: Final = ("-P", "-m", "tailer.jit.ahead")
"""What Python is started with."""

LOOK_SECONDS: Final = 1.0
"""How often it is looked whether another process has compiled."""

BUSY: Final = 3
"""The exit code of a compiler that found another one at work."""

_DETAILS_MAX: Final = 400
_NO_ROOM: Final = "no folder can be written that compiled code could be kept in; set XDG_CACHE_HOME to one"


class Compiling:
    """Code that is on its way, compiled by a process that this one starts, or that another one has started.

    The process goes on when this one ends, so that the next one finds the code.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.notice: str | None = None
        self.succeeded = False
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self._next_look = clock() + LOOK_SECONDS
        if not store.is_being_compiled():
            self._start()

    def is_over(self) -> bool:
        """Whether it has ended; then `succeeded` and `notice` say how."""
        if self.succeeded or self.notice is not None:
            return True
        if self._process is not None:
            code = self._process.poll()
            if code is not None:
                self._ended(code)
        elif self._clock() >= self._next_look:
            self._look()
        return self.succeeded or self.notice is not None

    def forget_process(self) -> None:
        """After a fork: the process is the parent's."""
        self._process = None

    def _look(self) -> None:
        """Whether the other process is done, or gone."""
        self._next_look = self._clock() + LOOK_SECONDS
        if store.kept() is not None:
            self.succeeded = True
        elif not store.is_being_compiled():
            self._start()

    def _start(self) -> None:
        try:
            # A file, not a pipe: the process may outlive this one.
            self._said = tempfile.TemporaryFile()  # noqa: SIM115
            self._process = subprocess.Popen(
                [sys.executable or "python3", *COMMAND],
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=self._said,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)},
                start_new_session=True,
            )
        except OSError as error:
            self._fail(str(error))

    def _ended(self, code: int) -> None:
        self._process = None
        said = self._take_said()
        if code == BUSY:
            self._next_look = self._clock() + LOOK_SECONDS
        elif code == 0 and store.kept() is not None:
            self.succeeded = True
        else:
            self._fail(said or f"the compiler ended with {code}")

    def _take_said(self) -> str:
        assert self._said is not None
        with self._said as said:
            said.seek(0)
            return said.read().decode(errors="replace").strip()

    def _fail(self, details: str) -> None:
        self.notice = f"{WITHOUT}: {details[-_DETAILS_MAX:]}"


def main() -> int:
    """Compiles what is not kept whole. Where that does not lie beside the source, whoever uses it first says so."""
    store.discard_damaged(f"{module}.{name}" for module, name in COMPILED)
    if store.kept() is not None:
        return 0
    room = store.room()
    if room is None:
        sys.stdout.write(f"{_NO_ROOM}\n")
        return 1
    with store.compiling(room) as alone:
        if not alone:
            sys.stdout.write("another process is compiling\n")
            return BUSY
        if store.kept() is None:
            os.nice(_NICE)
            for module, name in COMPILED:
                getattr(import_module(module), name)
            store.finish(room)
    return 0


if __name__ == "__main__":
    sys.exit(main())
