"""`cdc-tail serve`: a node's log and its state for readers elsewhere. Parses options, and says who may ask."""

from __future__ import annotations

import ipaddress
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tailer.cli.as_owner import as_state_owner
from tailer.cli.command import command
from tailer.cli.standard_error import STANDARD_ERROR
from tailer.errors import UsageError
from tailer.options.listen import Listen, cannot_listen
from tailer.options.to_terminal import DIR

if TYPE_CHECKING:
    from tailer.serve.clients import Clients
    from tailer.serve.options import ServeOptions

app = typer.Typer(add_completion=False)


@command(
    app,
    "serve",
    {"folder": DIR},
    epilog="Example: cdc-tail serve /var/lib/cassandra/cdc_raw --listen 0.0.0.0:9043 --host-name n1 --cert n1.pem "
    "--key n1.key --token-file tokens.toml",
)
def serve(folder: Path, values: dict[str, Any]) -> None:
    """Serve a log folder and its state to readers on other machines, until it is stopped."""
    try:
        from tailer.serve.run import serve as run
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "tailer":
            raise
        raise UsageError(
            f"serve: there is no package {error.name}", remedy="Install it: pip install 'cdc-tail[serve]'."
        ) from error
    from tailer.state.log_folder import state_folder

    # What root alone may read is read before it becomes another user.
    options = _options(folder, values)
    as_state_owner(folder, state_folder(folder))
    run(options, STANDARD_ERROR.notice)


def _options(folder: Path, values: dict[str, Any]) -> ServeOptions:
    from tailer.options.tail import tail_options
    from tailer.serve.options import ServeOptions
    from tailer.serve.own_reading import READING

    listen: Listen = values["listen"]
    tls = _tls(values)
    if tls is None and not _is_loopback(listen):
        raise UsageError(
            f"{listen} is an address that others reach, and what is served are all tables' bytes",
            expected="TLS: --cert FILE, and --key FILE",
            found="neither",
            remedy="Without a certificate listen on 127.0.0.1.",
        )
    clients = _clients(values)
    if clients.open and not _is_loopback(listen):
        STANDARD_ERROR.notice(f"warning: whoever reaches {listen} may read every table and move every consumer")
    return ServeOptions(
        folder,
        listen,
        clients,
        None if tls is None else tls.context(),
        values["status_listen"],
        values["host_name"],
        values["max_rate"],
        values["cap"],
        tail_options(values, **READING),
    )


def _tls(values: dict[str, Any]) -> Any:
    from tailer.serve.tls import Tls

    cert, key, client_ca = values["cert"], values["key"], values["client_ca"]
    if cert is None:
        for word in ("key", "client_ca"):
            if values[word] is not None:
                raise UsageError(f"--{word.replace('_', '-')} without --cert", remedy="TLS needs a certificate.")
        return None
    return Tls(cert, key, client_ca)


def _clients(values: dict[str, Any]) -> Clients:
    from tailer.serve.clients import Clients, read_clients, read_tokens

    client_ca, clients, tokens = values["client_ca"], values["clients"], values["token_file"]
    if clients is not None and client_ca is None:
        raise UsageError("--clients without --client-ca", remedy="Say who may have signed their certificates.")
    given = [word for word in ("client_ca", "token_file") if values[word] is not None]
    if values["no_auth"]:
        if given:
            raise UsageError(f"--no-auth with --{given[0].replace('_', '-')}", remedy="Leave one of them out.")
        return Clients({}, open=True)
    if not given:
        raise UsageError(
            "nothing says who may ask",
            expected="--client-ca FILE or --token-file FILE",
            found="neither",
            remedy="On a machine that nobody else uses --no-auth lets everybody ask.",
        )
    known = {} if client_ca is None else None if clients is None else read_clients(clients)
    return Clients(known, () if tokens is None else read_tokens(tokens))


def _is_loopback(listen: Listen) -> bool:
    """Whether nobody else reaches it, whatever the name stands for."""
    try:
        found = socket.getaddrinfo(listen.host, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise cannot_listen(listen, error) from error
    return all(ipaddress.ip_address(str(each[4][0]).partition("%")[0]).is_loopback for each in found)
