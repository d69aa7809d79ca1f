"""The command `cdc-tail`: finds the command's file, runs it, and turns what comes out into an exit code.

The only place where errors become exit codes and sentences (architecture section 9). Knows of a command its name alone.
A command's file is `tailer/cli/<name>.py` with a `typer.Typer` called `app`; what is heavy it loads when it runs.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperGroup

from tailer.cli.as_owner import lost_program
from tailer.cli.standard_error import NAME, STANDARD_ERROR
from tailer.cli.terminal_output import terminals_guarded
from tailer.errors import CdcError, UsageError
from tailer.options.declared_commands import COMMANDS
from tailer.system_errors import check_address_space, lack_of_memory, system_error

DEBUG_VARIABLE: Final = "CDC_TAIL_DEBUG"
BUG: Final = 1

# typer brings its own copy of click in newer releases and shows of its errors only the leaves.
_ParserError: Final[type[Exception]] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)


class LazyGroup(TyperGroup):
    """The commands of `COMMANDS`, each imported when it is named (or listed)."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        command = typer.main.get_command(importlib.import_module(f"tailer.cli.{cmd_name}").app)
        command.name = cmd_name
        return command


app = typer.Typer(
    name=NAME,
    cls=LazyGroup,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog="Example: cdc-tail inspect /var/lib/cassandra/cdc_raw",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"{NAME} {version()}\n")
        raise typer.Exit


_Version = Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Say which it is.")]


@app.callback()
def _root(version: _Version = False) -> None:
    """Changes out of live commit-log segments: Apache Cassandra's cdc_raw, and services that write their own log."""


def version() -> str:
    """The installed distribution's version."""
    from importlib import metadata

    try:
        return metadata.version(NAME)
    except metadata.PackageNotFoundError:
        return "(not installed)"


def run() -> NoReturn:
    """The console script."""
    sys.exit(main())


def main(argv: list[str] | None = None) -> int:
    """Run one command line and return its exit code (architecture section 9). Never raises."""
    words = sys.argv[1:] if argv is None else argv
    STANDARD_ERROR.begin(words, os.environ)
    with terminals_guarded():
        return _exit_code(words)


def _exit_code(words: Sequence[str]) -> int:
    try:
        with _interrupted_by_sigterm():
            code = _invoke(words)
            if sys.stdout is not None:
                sys.stdout.flush()
            return code
    except (KeyboardInterrupt, BrokenPipeError):
        # Interrupted by the user, or the pipe's reader went away: both are an ordinary end.
        _abandon_stdout()
        return 0
    except CdcError as error:
        return _fail(error.code, error.sentence())
    except _ParserError as error:
        return _fail(UsageError.code, _usage_sentence(error))
    except typer.Abort:
        return _fail(UsageError.code, "stopped at a question.")
    except OSError as error:
        failed = system_error("", error)
        return _fail(failed.code, failed.sentence())
    except Exception as error:
        lost = lack_of_memory(error) or (lost_program(error) if isinstance(error, ImportError) else None)
        return _fail(BUG, _bug_sentence(error)) if lost is None else _fail(lost.code, lost.sentence())


def _invoke(argv: Sequence[str]) -> int:
    """The command's exit code. Not `Command.main`: that one swallows broken pipes and interrupts."""
    if sys.stdout is None or sys.stderr is None:
        raise UsageError("standard output or standard error is closed", remedy="Redirect it to /dev/null instead.")
    check_address_space()
    # Nothing here multiplies matrices; and where its threads cannot begin, OpenBLAS sends this process a SIGINT.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    command = typer.main.get_command(app)
    try:
        with command.make_context(NAME, list(argv)) as context:
            result = command.invoke(context)
    except typer.Exit as exit_:
        return exit_.exit_code
    return result if isinstance(result, int) else 0


@contextlib.contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """SIGTERM means what ^C means, unless the command has a gentler way of its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _usage_sentence(error: Exception) -> str:
    context: Any = getattr(error, "ctx", None)
    path = NAME if context is None else context.command_path
    text: str = error.format_message()  # type: ignore[attr-defined]  # both copies of click have it
    return f"{text[:1].lower()}{text[1:].rstrip('.')}. See: {path} --help"


def _bug_sentence(error: Exception) -> str:
    return (
        f"this is a bug in {NAME} {version()}: {type(error).__name__}: {error}. Please report it with the command line "
        f"and what the same command prints with {DEBUG_VARIABLE}=1."
    )


def _fail(code: int, sentence: str) -> int:
    """One sentence on standard error; the traceback only for who asks for it."""
    with contextlib.suppress(OSError, AttributeError):  # AttributeError: standard error itself is closed
        told = traceback.format_exc() if os.environ.get(DEBUG_VARIABLE) == "1" else None
        STANDARD_ERROR.error(sentence, code, told)
    _settle_stdout()
    return code


def _settle_stdout() -> None:
    """Deliver what was written before the failure; what cannot be is given up, not tried again at exit."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        _abandon_stdout()


def _abandon_stdout() -> None:
    """Point standard output at nothing, so that Python's flush at exit cannot fail once more."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
