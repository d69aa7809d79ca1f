"""Sockets that are listened on, before anything is made or opened for who comes."""

from __future__ import annotations

import socket
from typing import Final

from tailer.options.listen import Listen, cannot_listen

BACKLOG: Final = 512
"""How many clients may wait to be let in."""


def bound(listen: Listen) -> socket.socket:
    """A socket at an address, on which clients may wait from now on. Raises `cannot_listen`."""
    made = None
    try:
        found = socket.getaddrinfo(listen.host, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, _, _, address = found[0]
        made = socket.socket(family, kind)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(BACKLOG)
        made.setblocking(False)
    except (OSError, UnicodeError, OverflowError) as error:
        if made is not None:
            made.close()
        raise cannot_listen(listen, error) from error
    return made


def address_of(made: socket.socket, listen: Listen) -> Listen:
    """Where a socket listens, by the name that it was given: any free port has a number now."""
    return Listen(listen.host, made.getsockname()[1])
