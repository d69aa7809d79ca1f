"""Which form of a step works: the plain one at once, the compiled one once there is enough to read and it is ready.

The only chooser; the rooms name their forms (`framing.forms`, `scan.forms`). Knows none of them.

Loading takes a tenth of a second, compiling a minute; neither delays a row. Loading is done in a thread, or on the
spot where a large span lies ahead; compiling in a process of its own, whose work is kept on the disk.
`CDC_TAIL_JIT=0` (and numba's own NUMBA_DISABLE_JIT) keeps to the plain twins, `CDC_TAIL_JIT=1` waits for the compiled
ones and gives them everything, however little it is.
"""

from __future__ import annotations

import enum
import os
import threading
import time
from importlib import import_module
from importlib import import_module as plain_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from tailer.jit.store import WITHOUT
from tailer.limits import MIB

if TYPE_CHECKING:
    from tailer.jit.ahead import Compiling

WORTH_BYTES: Final = 2 * MIB
"""Read by the plain twins in the time that loading the compiled ones takes: after that much they are worth it."""


_FIRST: Final = "tailer.framing.compiled.chain"
"""Whatever is read is checked. The other twins are loaded when they are asked for, or with this one if they were."""

_PATIENCE_SECONDS: Final = 0.05


class _Stage(enum.Enum):
    COLD = enum.auto()
    COMPILING = enum.auto()
    LOADING = enum.auto()
    READY = enum.auto()
    OFF = enum.auto()


class Choice:
    """The choice of one process; see the module."""

    def __init__(self, environment: str | None) -> None:
        self._lock = threading.Lock()
        self._stage = _Stage.COLD
        self._seen = 0
        self._notices: list[str] = []
        self._twins: dict[str, ModuleType] = {}
        self._wanted = {_FIRST: None}
        self._compiling: Compiling | None = None
        self._loader: threading.Thread | None = None
        self._retries = 1
        self._waits = environment == "1"
        if environment == "0" or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0" or find_spec("numba") is None:
            self._stage = _Stage.OFF

    def twin(self, module: str, enough: bool = True) -> ModuleType | None:
        """The module of a compiled twin, by its name; None while the plain one does the work.

        `enough`: whether there is so much to do that the compiled one is the quicker.
        """
        if not enough and not self._waits:
            return None
        found = self._twins.get(module)
        if found is None and self._stage is not _Stage.OFF:
            with self._lock:
                self._wanted[module] = None
                if self._stage is _Stage.READY:
                    self._load()
        return self._twins.get(module) if self._stage is _Stage.READY else None

    def form(self, name: str, compiled: str, plain: str, enough: bool = True) -> Any:
        """The function of that name from the compiled module or from the plain one: they give the same."""
        return getattr(self.twin(compiled, enough) or plain_module(plain), name)

    def expect(self, size: int) -> None:
        """So many bytes are about to be scanned: brings the compiled twins nearer, if that is worth it by now."""
        if self._stage is _Stage.READY or self._stage is _Stage.OFF:
            return
        with self._lock:
            self._seen += size
            if self._waits:
                self._wait_for_them()
            elif self._seen >= WORTH_BYTES:
                self._advance(at_once=size >= WORTH_BYTES)

    def bring(self, *modules: str) -> None:
        """Much is about to come for these twins: they are ready when this returns, unless they must be compiled."""
        if self._stage is _Stage.OFF:
            return
        with self._lock:
            self._wanted |= dict.fromkeys(modules)
            if self._waits:
                self._wait_for_them()
            elif self._stage is _Stage.READY:
                self._load()
            else:
                self._advance(at_once=True)

    def take_notices(self) -> list[str]:
        """What there is to say of the compiled code, once."""
        notices, self._notices = self._notices, []
        return notices

    def after_fork(self) -> None:
        """A child has no thread but its own, and none of its parent's processes."""
        self._lock = threading.Lock()
        if self._compiling is not None:
            self._compiling.forget_process()
        if self._stage is _Stage.LOADING:
            # What the parent's thread was importing stays half done here.
            self._stage = _Stage.OFF

    def _wait_for_them(self) -> None:
        while self._stage is not _Stage.READY and self._stage is not _Stage.OFF:
            self._advance(at_once=True)
            if self._stage is _Stage.COMPILING:
                time.sleep(_PATIENCE_SECONDS)

    def _advance(self, *, at_once: bool) -> None:
        if self._stage is _Stage.COLD:
            self._begin()
        if self._stage is _Stage.COMPILING and self._compiling is not None and self._compiling.is_over():
            if self._compiling.notice:
                self._notices.append(self._compiling.notice)
            self._stage = _Stage.LOADING if self._compiling.succeeded else _Stage.OFF
            self._loader = None
        if self._stage is _Stage.LOADING:
            if self._loader is None:
                # Not a daemon: a process must not end while foreign code is being loaded.
                self._loader = threading.Thread(target=self._load, name="cdc-tail-jit")
                self._loader.start()
            if at_once:
                self._loader.join()

    def _begin(self) -> None:
        from tailer.jit import store

        self._stage = _Stage.LOADING
        if store.kept() is None:
            self._compile()
        self._notices += store.take_refusals()

    def _compile(self) -> None:
        from tailer.jit import ahead

        self._compiling = ahead.Compiling()
        self._stage = _Stage.COMPILING

    def _load(self) -> None:
        """Loads the twins that were asked for."""
        from tailer.jit import store
        from tailer.jit.code_file import NotKeptError

        try:
            import_module("tailer.jit.decorators").only_load()
            self._twins |= {module: import_module(module) for module in list(self._wanted)}
        except NotKeptError as error:
            self._give_up(str(error), retry=True)
        except Exception as error:
            # Foreign code that does not load must not stop a reader that can do without.
            self._give_up(str(error), retry=False)
        else:
            if (news := store.take_news()) is not None:
                self._notices.append(news)
            self._stage = _Stage.READY

    def _give_up(self, details: str, *, retry: bool) -> None:
        """Goes on without; where the code on the disk was at fault, until it is compiled anew."""
        from tailer.jit import store

        if retry and self._retries:
            self._retries -= 1
            self._notices.append(f"{details}: it is compiled anew")
            store.discard()
            self._notices += store.take_refusals()
            self._compile()
            return
        self._notices.append(f"{WITHOUT}: {details}")
        self._stage = _Stage.OFF


_choice: Final = Choice(os.environ.get("CDC_TAIL_JIT"))
os.register_at_fork(after_in_child=_choice.after_fork)

expect = _choice.expect
bring = _choice.bring
form_now = _choice.form
twin_now = _choice.twin
take_notices = _choice.take_notices
