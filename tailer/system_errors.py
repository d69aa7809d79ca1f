"""What the operating system refuses, as the documented error that it is: the one owner of which class it becomes.

No permission needs a person (exit 2): it tells for which user, and the command that mends it. A full disk and all else
is worth a restart (exit 8). Looks at users and rights once something was refused, and changes none.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Final

from tailer.errors import CdcError, OwnLimitError, SystemFailedError, UsageError
from tailer.limits import MIB

NOT_ALLOWED: Final = (errno.EACCES, errno.EPERM, errno.EROFS)
NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)

OWN_LIMITS: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""What this process or its machine has no more of: it tells nothing of what was to be opened or asked."""

_NO_LIMIT: Final = 1 << 20
_ADDRESS_SPACE_MIN: Final = 160 * MIB
_NO_THREAD: Final = "can't start new thread"
_NOT_LOADED: Final = ("failed to map segment", "annot allocate memory")
_MORE_MEMORY: Final = "Give it more memory (`ulimit -v`, LimitAS= or MemoryMax= in a systemd unit), or fewer nodes."

_BITS: Final = {"r": os.R_OK, "w": os.W_OK, "x": os.X_OK}


def system_error(
    what: str, error: OSError, path: str | os.PathLike[str] | None = None, *, writes: bool = False, remedy: str = ""
) -> CdcError:
    """An OSError as a documented error. `what`: what failed, empty where nobody knows more than the system says.

    `path`: where, if not where it says itself. `writes`: reading is not enough.
    """
    file = _text(error.filename if path is None else path)
    if error.errno in NOT_ALLOWED:
        return no_permission(what, file, writes=writes, remedy=remedy, reason=error)
    reason = error.strerror or str(error) or type(error).__name__
    if error.errno in OWN_LIMITS:
        return OwnLimitError(_led(what, reason), file=file, remedy=_more_of(error.errno))
    if error.errno in NO_SPACE:
        remedy = "Free space, and start again."
    return SystemFailedError(_led(what, reason), file=file, remedy=remedy)


def is_own_limit(error: BaseException | None) -> bool:
    """Whether an error, or one that it was raised from, is a lack of this process or its machine."""
    while error is not None:
        if isinstance(error, OwnLimitError) or (isinstance(error, OSError) and error.errno in OWN_LIMITS):
            return True
        error = error.__cause__
    return False


def lack_behind(error: BaseException | None) -> OSError | None:
    """The lack of this process or its machine that an error is, or was raised from; None for all else.

    A resolver that can open no file tells that there is no such name, or that it cannot be asked for now.
    """
    from socket import gaierror

    while error is not None:
        if isinstance(error, OSError) and error.errno in OWN_LIMITS:
            return error
        if isinstance(error, gaierror) and (lack := lack_of_files()) is not None:
            return lack
        error = error.__cause__
    return None


def lack_of_files(count: int = 3) -> OSError | None:
    """What the system says to a process that opens so many files more; None where it lets it.

    For libraries that do not say why they could not open one; SQLite opens three.
    """
    opened: list[int] = []
    try:
        for _ in range(count):
            opened.append(os.open("/", os.O_PATH | os.O_CLOEXEC))
    except OSError as error:
        # Not where it was tried: that is nobody's file.
        return OSError(error.errno, error.strerror) if error.errno in OWN_LIMITS else None
    finally:
        for each in opened:
            os.close(each)
    return None


def lack_of_memory(error: BaseException) -> OwnLimitError | None:
    """An error as the lack of memory that it is; None for all else. Python and the dynamic loader have no class for
    some of them."""
    text = str(error)
    if isinstance(error, MemoryError):
        what = "not enough memory"
    elif isinstance(error, RuntimeError) and text == _NO_THREAD:
        what = "not enough memory, or too many processes, for another thread"
    elif isinstance(error, ImportError) and any(words in text for words in _NOT_LOADED):
        what = "not enough memory to load the program"
    else:
        return None
    return OwnLimitError(what, remedy=_MORE_MEMORY)


def check_address_space(least: int = _ADDRESS_SPACE_MIN) -> None:
    """OwnLimitError where this process may have less than it needs: libraries then end it in ways of their own."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY and soft < least:
        raise OwnLimitError(
            "not enough memory",
            expected=f"{least} bytes of address space at least",
            found=f"{soft}",
            remedy="Raise that (`ulimit -v` before the start, LimitAS= in a systemd unit).",
        )


def files_max() -> int:
    """How many descriptors this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _NO_LIMIT if soft == resource.RLIM_INFINITY else soft


def _more_of(number: int | None) -> str:
    if number == errno.EMFILE:
        return (
            f"This process may have {files_max()} files open: raise that (`ulimit -n` before the start, LimitNOFILE= "
            "in a systemd unit), or give it fewer nodes."
        )
    if number == errno.ENFILE:
        return "The machine has no more open files to give: raise fs.file-max (sysctl), or end what has so many open."
    return _MORE_MEMORY


def no_permission(
    what: str,
    path: str | os.PathLike[str] | None,
    *,
    writes: bool,
    remedy: str = "",
    reason: OSError | None = None,
) -> UsageError:
    """The error of who is not allowed something: the path, the user, and `remedy` or the command that mends it."""
    file = _text(path)
    if reason is not None and reason.errno == errno.EROFS:
        return UsageError(_led(what, str(reason.strerror)), file=file, remedy=remedy)
    if not remedy and file is not None:
        remedy = f"Mend it with: {mend(Path(file), writes=writes)}"
    return UsageError(_led(what, f"no permission for user {user_name(os.geteuid())}"), file=file, remedy=remedy)


@contextmanager
def told(what: str, path: Path, *, writes: bool = False) -> Iterator[None]:
    """Turns what the system refuses inside into a documented error, but for a file that is not there."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise system_error(what, error, path, writes=writes) from error


def mend(path: Path, *, writes: bool) -> str:
    """The command after which this user may read a path, or write it; where rights tell nothing, one that shows them.

    To write a file that is not there is to write its folder.
    """
    refused = _refused(Path.cwd() / path, writes)
    if refused is None:
        return f"namei -l {quote(str(path))}   (which shows the rights on the way there)"
    place, rights = refused
    status, where = place.stat(), quote(str(place))
    user, group = user_name(os.geteuid()), group_name(status.st_gid)
    if status.st_uid == os.geteuid():
        return f"chmod u+{rights} {where}"
    opened = f"sudo chmod g+{rights} {where}"
    if status.st_gid in (os.getegid(), *os.getgroups()):
        return opened
    if status.st_gid == 0:
        return f"sudo chgrp {group_name(os.getegid())} {where} && {opened}"
    joined = f"sudo usermod -aG {group} {user}"
    allowed = all(status.st_mode & _BITS[right] << 3 for right in rights)
    return f"{joined}   (and start it anew)" if allowed else f"{joined} && {opened}"


def _refused(path: Path, writes: bool) -> tuple[Path, str] | None:
    """The first place on the way to a path that keeps this user out, and which rights are missing there."""
    for folder in reversed(path.parents):
        if folder.exists() and not may(folder, "x"):
            return folder, "x"
    while not path.exists() and path != path.parent:
        path = path.parent
    wanted = ("rwx" if writes else "rx") if path.is_dir() else "rw" if writes else "r"
    return None if may(path, wanted) else (path, wanted)


def _text(path: object) -> str | None:
    """A path as text; None for what is none, as a descriptor's number."""
    return os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else None


def _led(what: str, reason: str) -> str:
    return f"{what}: {reason}" if what else reason


def may(path: Path, rights: str) -> bool:
    """Whether this user has rights (of `rwx`) on what is there."""
    mode = sum(_BITS[right] for right in rights)
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def path_of(descriptor: int) -> str | None:
    """The file that a descriptor is open on, as far as the system tells; None for pipes and their like."""
    try:
        found = str(Path(f"/proc/self/fd/{descriptor}").readlink())
    except OSError:
        return None
    return found if found.startswith("/") else None
