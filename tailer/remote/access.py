"""How a reader proves who it is to a node, and how it knows the node: certificates, and a token.

Secrets come from files or the environment, and stand in no offset, error, or log. Sends nothing.
"""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tailer.errors import UsageError
from tailer.options.tail import TailOptions
from tailer.system_errors import system_error

TOKEN_VARIABLE: Final = "CDC_TAIL_TOKEN"
_TOKEN_BYTES_MAX: Final = 4096


@dataclass(frozen=True, slots=True)
class Access:
    """Paths of files, empty for none. `ca`: who may have signed the node's certificate; the system's where empty."""

    ca: str = ""
    cert: str = ""
    key: str = ""
    token_file: str = ""

    def context(self) -> ssl.SSLContext:
        """For TLS with a node. UsageError for files that are none of these."""
        for path in (self.ca, self.cert, self.key):
            _check_readable(path)
        try:
            context = ssl.create_default_context(cafile=self.ca or None)
            # Who names an intermediate authority trusts that one, and needs none above it.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            if self.cert:
                context.load_cert_chain(self.cert, self.key or None, password=_no_password)
        except (ssl.SSLError, OSError) as error:
            raise UsageError(
                "these files give no TLS with a node",
                file=", ".join(path for path in (self.ca, self.cert, self.key) if path),
                expected="certificates and a key in PEM, the key without a password",
                found=str(error) or type(error).__name__,
            ) from None
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        return context

    def token(self) -> str:
        """The token to show, empty for none: the file's first line, else the environment's. UsageError."""
        if not self.token_file:
            return _check_token(os.environ.get(TOKEN_VARIABLE, "").strip(), TOKEN_VARIABLE)
        _check_readable(self.token_file)
        line = Path(self.token_file).read_bytes()[:_TOKEN_BYTES_MAX].partition(b"\n")[0].strip()
        token = _check_token(line.decode("latin-1"), self.token_file)
        if not token:
            raise UsageError("no token", file=self.token_file, expected="one on the first line", found="nothing")
        return token


def access_of(options: TailOptions) -> Access:
    """What the options say."""
    files = (options.node_ca, options.node_cert, options.node_key, options.token_file)
    return Access(*(str(each or "") for each in files))


def _check_token(token: str, where: str) -> str:
    if not all("!" <= letter <= "~" for letter in token):
        # Not shown: it is nearly a token.
        raise UsageError("no token is written like this", file=where, expected="printable ASCII without blanks")
    return token


def _check_readable(path: str) -> None:
    try:
        if path:
            with Path(path).open("rb"):
                return
    except PermissionError as error:
        raise system_error("cannot read the file", error, Path(path)) from None
    except OSError as error:
        raise UsageError("cannot read the file", file=path, found=error.strerror) from None


def _no_password() -> str:
    return ""
