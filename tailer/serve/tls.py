"""TLS of the server: its certificate, and who may have signed those of its clients. Reads files, and serves nothing."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from tailer.errors import UsageError
from tailer.system_errors import system_error


@dataclass(frozen=True, slots=True)
class Tls:
    """`key`: None where it stands with the certificate. `client_ca`: None asks nobody for a certificate."""

    cert: Path
    key: Path | None = None
    client_ca: Path | None = None

    def context(self) -> ssl.SSLContext:
        """UsageError for files that are none of these.

        A client without certificate is let in as far as to be told in words that it needs one, or a token.
        """
        files = [file for file in (self.cert, self.key, self.client_ca) if file is not None]
        for file in files:
            _check_readable(file)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        try:
            context.load_cert_chain(self.cert, self.key, password=_no_password)
            if self.client_ca is not None:
                context.load_verify_locations(cafile=self.client_ca)
                # Who names an intermediate authority trusts that one alone, and none above it.
                context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
                context.verify_mode = ssl.CERT_OPTIONAL
        except (ssl.SSLError, OSError, ValueError) as error:
            raise UsageError(
                "these files give no TLS",
                file=", ".join(map(str, files)),
                expected="certificates and a key in PEM, the key without a password",
                found=str(error) or type(error).__name__,
            ) from None
        context.set_alpn_protocols(["http/1.1"])
        return context


def _check_readable(file: Path) -> None:
    try:
        with file.open("rb"):
            return
    except PermissionError as error:
        raise system_error("cannot read the file", error, file) from None
    except OSError as error:
        raise UsageError("cannot read the file", file=str(file), found=error.strerror) from None


def _no_password() -> str:
    return ""
