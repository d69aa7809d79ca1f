"""The bytes of a PKCS12 keystore -> a secret key, by alias. Knows no file and no environment.

The structures are read by `asn1crypto`, the ciphers are those of `cryptography`, which has no secret bags itself.
Java keeps a secret key as a SecretBag whose value is an encrypted PrivateKeyInfo (sun.security.pkcs12.PKCS12KeyStore):
the key's bytes stand where a private key has its own.

    Pfx: ContentInfos of SafeBags | MAC over them, by the store's password   (RFC 7292)
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from typing import Any, Final

from tailer.errors import DefinitionError
from tailer.segments.keystore_errors import check_alias, not_opened, wrong_password

BEGINS: Final = b"\x30"
"""The tag of a DER sequence."""
_ITERATIONS_MAX: Final = 5_000_000
"""As in a JCEKS keystore (`jceks`)."""
_HASHES: Final = frozenset({"sha1", "sha224", "sha256", "sha384", "sha512"})
_KEY, _IV, _MAC = 1, 2, 3
"""What the key derivation of PKCS12 is asked for (RFC 7292, appendix B.3)."""


def read_secret_key(data: bytes, alias: str, password: str, key_password: str, file: str = "") -> bytes:
    """The secret key `alias` of the keystore `data`. Java compares aliases of PKCS12 without case.

    Raises DefinitionError: not a PKCS12 keystore, a wrong password, no such alias (it lists those there are).
    """
    try:
        contents = _checked(data, password, file)
        sealed = dict(_secret_bags(contents, password))
    except (ValueError, TypeError, KeyError) as error:
        raise DefinitionError("the keystore's entries cannot be read", file=file, found=str(error)) from None
    check_alias(alias, sealed, file)
    try:
        return _secret_of(sealed[alias.lower()], key_password)
    except (ValueError, TypeError) as error:
        raise not_opened(alias, file, error) from None


def _checked(data: bytes, password: str, file: str) -> bytes:
    """The safes, where the MAC checks. DefinitionError for a wrong password."""
    from asn1crypto import pkcs12

    pfx = pkcs12.Pfx.load(data, strict=True)
    contents: bytes = pfx["auth_safe"]["content"].native
    mac = pfx["mac_data"]
    if not mac.native:
        raise ValueError("there is no MAC, by which a password could be checked")
    name = _hash(mac["mac"]["digest_algorithm"]["algorithm"].native)
    length = hashlib.new(name).digest_size
    key = _derived(password, mac["mac_salt"].native, mac["iterations"].native, _MAC, length, name)
    if not hmac.compare_digest(hmac.digest(key, contents, name), mac["mac"]["digest"].native):
        raise wrong_password(file)
    return contents


def _secret_bags(contents: bytes, password: str) -> Iterator[tuple[str, bytes]]:
    """The sealed values of all secret keys, by alias."""
    from asn1crypto import pkcs12

    for info in pkcs12.AuthenticatedSafe.load(contents):
        if info["content_type"].native == "encrypted_data":
            sealed = info["content"]["encrypted_content_info"]
            bags = _opened(sealed["content_encryption_algorithm"], sealed["encrypted_content"].native, password)
        else:
            bags = info["content"].native
        for bag in pkcs12.SafeContents.load(bags):
            if bag["bag_id"].native == "secret_bag":
                yield _alias(bag), bag["bag_value"]["secret_value"].native


def _alias(bag: Any) -> str:
    names = [each["values"][0].native for each in bag["bag_attributes"] or () if each["type"].native == "friendly_name"]
    return str(names[0]).lower() if names else ""


def _secret_of(sealed: bytes, password: str) -> bytes:
    from asn1crypto import core, keys

    info = keys.EncryptedPrivateKeyInfo.load(sealed, strict=True)
    plain = _opened(info["encryption_algorithm"], info["encrypted_data"].native, password)
    # Version, algorithm, key: `keys.PrivateKeyInfo` knows no key of AES.
    secret: bytes = core.Sequence.load(plain, strict=True)[2].native
    return secret


def _opened(algorithm: Any, sealed: bytes, password: str) -> bytes:
    """What was sealed by a password. ValueError for an algorithm that is not known, or a wrong password."""
    from cryptography.hazmat.primitives.ciphers import Cipher, modes
    from cryptography.hazmat.primitives.padding import PKCS7

    cipher, length = _cipher(algorithm)
    rounds, salt, name = algorithm.kdf_iterations, algorithm.kdf_salt, _hash(algorithm.kdf_hmac)
    if algorithm.kdf == "pbkdf2":
        _check_rounds(rounds)
        key = hashlib.pbkdf2_hmac(name, password.encode(), salt, rounds, length)
        iv = algorithm.encryption_iv
    else:
        key = _derived(password, salt, rounds, _KEY, length, name)
        iv = _derived(password, salt, rounds, _IV, cipher.block_size // 8, name)
    opened = Cipher(cipher(key), modes.CBC(iv)).decryptor()
    padding = PKCS7(cipher.block_size).unpadder()
    return padding.update(opened.update(sealed) + opened.finalize()) + padding.finalize()


def _cipher(algorithm: Any) -> tuple[Any, int]:
    """The cipher, and how many bytes its key has."""
    from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
    from cryptography.hazmat.primitives.ciphers.algorithms import AES

    name = algorithm.encryption_cipher
    known: dict[str, Any] = {"aes": AES, "tripledes": TripleDES}
    if name not in known or algorithm.encryption_mode != "cbc":
        raise ValueError(f"cipher {name} is not one that Java seals keys with")
    return known[name], algorithm.key_length


def _hash(name: str) -> str:
    if name not in _HASHES:
        raise ValueError(f"hash {name} is not one that Java seals keys with")
    return name


def _check_rounds(rounds: int) -> None:
    if not 0 < rounds <= _ITERATIONS_MAX:
        raise ValueError(f"{rounds} rounds, not 1 to {_ITERATIONS_MAX}")


def _derived(password: str, salt: bytes, rounds: int, use: int, length: int, name: str) -> bytes:
    """Bytes by the key derivation of PKCS12 (RFC 7292, appendix B.2). `name`: of the hash."""
    _check_rounds(rounds)
    block = hashlib.new(name).block_size

    def filled(text: bytes) -> bytes:
        return (text * block)[: -(-len(text) // block) * block]

    mixed = filled(salt) + filled((password + "\0").encode("utf-16-be", "surrogatepass"))
    made = b""
    while len(made) < length:
        part = bytes([use]) * block + mixed
        for _ in range(rounds):
            part = hashlib.new(name, part, usedforsecurity=False).digest()
        made += part
        step = int.from_bytes((part * block)[:block]) + 1
        blocks = (mixed[at : at + block] for at in range(0, len(mixed), block))
        mixed = b"".join(((int.from_bytes(each) + step) % (1 << 8 * block)).to_bytes(block) for each in blocks)
    return made[:length]
