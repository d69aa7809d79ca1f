"""By which name a page may be asked for: a foreign site's name that leads to this machine is not its name. Pure."""

from __future__ import annotations

import ipaddress
import re

_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(:\d+)?")


def asked_rightly(host: str | None, local: str | None) -> bool:
    """Whether a request may be answered. `host`: its Host header, None without; `local`: the address it came in at.

    On loopback only this machine's own names are: a browser here may be on a page whose name was made to lead here. Of
    an address that others reach too the names are not known, and what is shown is for everybody who comes that far.
    """
    if host is None or local is None or not _is_loopback(local):
        return True
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = found[1].strip("[]").lower().rstrip(".")
    return name == "localhost" or name.endswith(".localhost") or _is_loopback(name)


def _is_loopback(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
