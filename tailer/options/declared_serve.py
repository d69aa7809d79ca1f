"""The options of `serve`: where a node's log is served, to whom, and how fast. Part of the table."""

from __future__ import annotations

from typing import Final

from tailer.options import kinds
from tailer.options.declared import Option

_WHERE: Final = "Where it is served"
_WHOM: Final = "To whom"
_LIMITS: Final = "How much"
_SERVE: Final = ("serve",)

SERVE: Final = (
    Option("listen", kinds.LISTEN, "Where readers ask; without a host for this machine alone. Other addresses need "
           "--cert.", _WHERE, "127.0.0.1:9043", "listen", _SERVE),
    Option("status_listen", kinds.LISTEN, "Where /healthz, /readyz and the page for people are, without password: no "
           "row data.", _WHERE, "127.0.0.1:9044", "status-listen", _SERVE),
    Option("host_name", kinds.NAMES, "A name that this server is asked for by, as in https://n1:9043; may be given "
           "again. Its addresses and localhost count anyhow.", _WHERE, (), "host-name", _SERVE),
    Option("cert", kinds.FILE, "The server's certificate, and those up to its authority.", _WHERE, None, "cert",
           _SERVE),
    Option("key", kinds.FILE, "Its key, if that does not stand with the certificate.", _WHERE, None, "key", _SERVE),
    Option("client_ca", kinds.FILE, "Who may have signed the certificates of clients.", _WHOM, None, "client-ca",
           _SERVE),
    Option("clients", kinds.FILE, "TOML: whose certificates count, and what each may do. Default: all that --client-ca "
           "has signed may do everything.", _WHOM, None, "clients", _SERVE),
    Option("token_file", kinds.FILE, "TOML: tokens, and what who shows one may do.", _WHOM, None, "token-file",
           _SERVE, alone=True),
    Option("no_auth", kinds.FLAG, "Nobody has to say who he is.", _WHOM, False, "no-auth", _SERVE),
    Option("max_rate", kinds.BYTES, "Bytes of segments a second that leave at most (64m).", _LIMITS, None, "max-rate",
           _SERVE),
    Option("cap", kinds.SIZE, "The server's cdc_total_space, for `status`. Default: the server's own, min(4096 MiB, an "
           "eighth of the volume).", None, None, "cap", _SERVE, alone=True),
)  # fmt: skip
