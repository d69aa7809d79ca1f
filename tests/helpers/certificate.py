"""Certificates for tests: one that signs itself, and an authority that issues them, for servers and for clients."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple


class Issued(NamedTuple):
    """Files in PEM. `both`: the certificate and its key."""

    cert: Path
    key: Path
    both: Path


class Authority:
    """Signs certificates; who is given `ca` trusts them. Its files, and those that it issues, lie in `folder`.

    `above`: the authority that signs its own certificate; None for itself.
    """

    def __init__(
        self,
        folder: Path,
        name: str = "an authority under test",
        above: Authority | None = None,
        *,
        expired: bool = False,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.ca = folder / "ca.pem"
        self._folder = folder
        self._name = _named(name)
        self._key = _new_key()
        self._numbers = itertools.count(1)
        now = datetime.now(UTC)
        by, key = (self._name, self._key) if above is None else (above._name, above._key)
        until = now - timedelta(minutes=1) if expired else now + _DAY
        made = _signed(self._name, by, self._key, key, now - _HOUR, until, [], authority=True)
        self.ca.write_bytes(_pem(made))

    def issue(
        self,
        name: str = "a server under test",
        addresses: Sequence[str] = (),
        hosts: Sequence[str] = (),
        *,
        expired: bool = False,
    ) -> Issued:
        """A certificate of a common name, for addresses and names; `expired` since a minute."""
        from cryptography import x509

        now, key = datetime.now(UTC), _new_key()
        until = now - timedelta(minutes=1) if expired else now + _DAY
        names: list[Any] = [x509.IPAddress(ip_address(each)) for each in addresses]
        names += [x509.DNSName(each) for each in hosts]
        made = _signed(_named(name), self._name, key, self._key, now - _HOUR, until, names, authority=False)
        stem = f"issued-{next(self._numbers)}"
        issued = Issued(*(self._folder / f"{stem}{end}" for end in (".pem", ".key", "-both.pem")))
        issued.cert.write_bytes(_pem(made))
        issued.key.write_bytes(_key_pem(key))
        issued.both.write_bytes(_key_pem(key) + _pem(made))
        return issued


def chained(issued: Issued, *authorities: Authority) -> Issued:
    """With the certificates of these authorities behind its own, as servers and clients show them."""
    chain = issued.cert.with_suffix(".chain.pem")
    chain.write_bytes(b"".join([issued.cert.read_bytes(), *(each.ca.read_bytes() for each in authorities)]))
    return issued._replace(cert=chain)


def make_certificate(folder: Path, address: str) -> tuple[Path, Path]:
    """`certificate.pem`, which signs itself, and `key-and-certificate.pem` for the server of that address."""
    from cryptography import x509

    key, name, now = _new_key(), _named("a server under test"), datetime.now(UTC)
    names = [x509.IPAddress(ip_address(address))]
    made = _signed(name, name, key, key, now - _HOUR, now + _DAY, names, authority=True)
    certificate, both = folder / "certificate.pem", folder / "key-and-certificate.pem"
    certificate.write_bytes(_pem(made))
    both.write_bytes(_key_pem(key) + _pem(made))
    return certificate, both


_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)


def _new_key() -> Any:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _named(name: str) -> Any:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _signed(
    subject: Any,
    issuer: Any,
    key: Any,
    by: Any,
    begin: datetime,
    end: datetime,
    names: Sequence[Any],
    *,
    authority: bool,
) -> Any:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(by, hashes.SHA256())


def _pem(certificate: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    data: bytes = certificate.public_bytes(Encoding.PEM)
    return data


def _key_pem(key: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    data: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return data
