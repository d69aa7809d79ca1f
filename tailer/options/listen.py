"""Where to listen, as users write it: `9464`, `HOST:9464`, `[::1]:9464`; and why that cannot be had. Opens nothing."""

from __future__ import annotations

import re
from errno import EADDRINUSE, EADDRNOTAVAIL
from typing import Final, NamedTuple

from tailer.errors import CdcError, SystemFailedError, UsageError
from tailer.system_errors import lack_behind, system_error

LOCAL: Final = "127.0.0.1"
"""Where nobody else comes in."""

_LATER: Final = (
    "Is its interface up, and does the name server answer? Start again then. Else name an address of this machine."
)
_LISTEN: Final = re.compile(r"(?:(\[[0-9A-Fa-f:.%\w]+\]|[^\[\]:\s]*):)?(\d{1,5})", re.ASCII)
_PORT_MAX: Final = 65_535


class Listen(NamedTuple):
    """A host's name or address, and a port; 0: any that is free."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def listen_of(value: object) -> Listen | None:
    """What a text or a number says; None for what is none. Without a host it is this machine alone."""
    if isinstance(value, Listen):
        return value
    if type(value) is int and 0 <= value <= _PORT_MAX:
        return Listen(LOCAL, value)
    found = _LISTEN.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or int(found[2]) > _PORT_MAX:
        return None
    return Listen((found[1] or LOCAL).strip("[]"), int(found[2]))


def cannot_listen(listen: Listen, error: Exception, purpose: str = "") -> CdcError:
    """The error of an address that cannot be had. One that may be there later is worth a restart: at boot a service may
    start before its network. `purpose`: words behind the address."""
    what = f"cannot listen on {listen}{purpose}"
    told = f"{what}: {getattr(error, 'strerror', None) or error}"
    if isinstance(error, OSError):
        if (lack := lack_behind(error)) is not None:
            return system_error(what, lack)
        if _may_come(listen, error):
            return SystemFailedError(told, remedy=_LATER)
        if error.errno == EADDRINUSE:
            return UsageError(told, remedy="Another process has it: name another port.")
    return UsageError(told, remedy="Name an address of this machine.")


def _may_come(listen: Listen, error: OSError) -> bool:
    from socket import EAI_AGAIN, gaierror

    if not isinstance(error, gaierror):
        return error.errno == EADDRNOTAVAIL
    return error.errno == EAI_AGAIN or _is_of_interface(listen.host)


def _is_of_interface(host: str) -> bool:
    """Whether it is an address with the interface that has it (`fe80::1%eth0`): no name, so it is not misspelt."""
    from ipaddress import ip_address

    address, _, interface = host.partition("%")
    try:
        return bool(interface and ip_address(address))
    except ValueError:
        return False
