"""The bytes of a JCEKS keystore -> a secret key, by alias. Knows no file and no environment.

The container is read here, Java's serialized objects by `javaobj`, the ciphers are those of `cryptography`.

    magic CECECECE | version | count | entries | SHA-1 over password, a fixed phrase and all before it   (big-endian)
    entry: tag 1 private key, 2 certificate, 3 secret key | alias | i64 date | by tag; a secret key is one Java object
"""

from __future__ import annotations

import hashlib
import hmac
import io
import logging
import struct
from functools import lru_cache
from typing import Any, Final, NoReturn

from tailer.errors import DefinitionError
from tailer.segments.keystore_errors import check_alias, not_opened, wrong_password

_ITERATIONS_MAX: Final = 5_000_000
"""The largest count that Java itself accepts (jdk.jceks.iterationCount)."""
_MAGIC: Final = b"\xce\xce\xce\xce"
_JKS_MAGIC: Final = b"\xfe\xed\xfe\xed"
_VERSION: Final = 2
_DIGEST_BYTES: Final = 20
_PHRASE: Final = b"Mighty Aphrodite"
_PRIVATE_KEY, _CERTIFICATE, _SECRET_KEY = 1, 2, 3
_SEAL: Final = "PBEWithMD5AndTripleDES"


def read_secret_key(data: bytes, alias: str, password: str, key_password: str, file: str = "") -> bytes:
    """The secret key `alias` of the keystore `data`. Java keeps JCEKS aliases in lower case, so case means nothing.

    Raises DefinitionError: not a JCEKS keystore, a wrong password, no such alias (it lists those there are).
    """
    _check_container(data, password, file)
    try:
        sealed = _secret_entries(data[:-_DIGEST_BYTES])
    except (ValueError, struct.error) as error:
        raise DefinitionError("the keystore's entries cannot be read", file=file, found=str(error)) from None
    check_alias(alias, sealed, file)
    try:
        return _unseal(sealed[alias.lower()], key_password)
    except ValueError as error:
        raise not_opened(alias, file, error) from None


def _check_container(data: bytes, password: str, file: str) -> None:
    if data[:4] != _MAGIC or len(data) < 12 + _DIGEST_BYTES:
        _refuse_type(data, file)
    body, found = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    # SHA-1 is what the format has; it tells a wrong password from a right one, and nothing more is asked of it.
    digest = hashlib.sha1(password.encode("utf-16-be", "surrogatepass") + _PHRASE + body, usedforsecurity=False)
    if not hmac.compare_digest(digest.digest(), found):
        raise wrong_password(file)


def _refuse_type(data: bytes, file: str) -> NoReturn:
    begins = f"a file that begins with {data[:4].hex() or 'nothing'}"
    raise DefinitionError(
        "unknown kind of keystore",
        file=file,
        expected="JCEKS or PKCS12 (store_type in Cassandra's own configuration)",
        found="JKS" if data.startswith(_JKS_MAGIC) else begins,
        remedy="Give the keystore that the server's transparent_data_encryption_options name.",
    )


def _secret_entries(data: bytes) -> dict[str, Any]:
    """The sealed Java objects of all secret keys, by alias. ValueError or struct.error where they cannot be read."""
    stream = io.BytesIO(data)
    _, version, count = struct.unpack(">4sii", stream.read(12))
    if version != _VERSION:
        raise ValueError(f"keystore version {version}, not {_VERSION}")
    sealed: dict[str, Any] = {}
    for _ in range(count):
        (tag,) = struct.unpack(">i", stream.read(4))
        alias = _text(stream)
        stream.seek(8, io.SEEK_CUR)
        if tag == _SECRET_KEY:
            sealed[alias] = _java_object(stream)
        elif tag == _PRIVATE_KEY:
            _block(stream)
            (chain,) = struct.unpack(">i", stream.read(4))
            for _ in range(chain):
                _skip_certificate(stream)
        elif tag == _CERTIFICATE:
            _skip_certificate(stream)
        else:
            raise ValueError(f"an entry of kind {tag}")
    return sealed


def _text(stream: io.BytesIO) -> str:
    (length,) = struct.unpack(">H", stream.read(2))
    return stream.read(length).decode("utf-8", "replace")


def _block(stream: io.BytesIO) -> bytes:
    (length,) = struct.unpack(">i", stream.read(4))
    block = stream.read(max(0, length))
    if len(block) != length:
        raise ValueError(f"a block of {length} bytes, {len(block)} of them there")
    return block


def _skip_certificate(stream: io.BytesIO) -> None:
    _text(stream)
    _block(stream)


def _java_object(stream: io.BytesIO) -> Any:
    """The next serialized Java object; the stream then stands behind it. ValueError where there is none."""
    import javaobj

    # The library raises its errors and writes them to a logger too, which would end on stderr.
    logging.getLogger("javaobj").addHandler(logging.NullHandler())
    load: Any = javaobj.load
    try:
        return load(stream, ignore_remaining_data=True)
    except Exception as error:
        # No class of its own: RuntimeError, IOError, KeyError, struct.error and others come out of it.
        raise ValueError(f"no Java object ({error})") from error


def _bytes_of(java: Any, field: str) -> bytes:
    """A `byte[]` field, whose elements are signed in Java."""
    try:
        return bytes(element & 0xFF for element in getattr(java, field))
    except (AttributeError, TypeError):
        raise ValueError(f"no byte[] field {field!r} in the Java object") from None


def _unseal(sealed: Any, password: str) -> bytes:
    """The key's bytes out of a SealedObject. ValueError with the reason where it cannot be opened."""
    algorithm = str(getattr(sealed, "sealAlg", ""))
    if algorithm != _SEAL:
        raise ValueError(f"sealed with {algorithm!r}, not {_SEAL}")
    salt, iterations = _parameters(_bytes_of(sealed, "encodedParams"))
    text = _decrypt(_bytes_of(sealed, "encryptedContent"), password, salt, iterations)
    key = _java_object(io.BytesIO(text))
    # SecretKeySpec keeps the bytes in `key`; KeyRep, in which other providers' keys are written, in `encoded`.
    return _bytes_of(key, "key" if hasattr(key, "key") else "encoded")


def _parameters(der: bytes) -> tuple[bytes, int]:
    """Salt and iteration count: SEQUENCE { OCTET STRING (8 bytes), INTEGER }."""
    if len(der) < 15 or der[0] != 0x30 or der[1] != len(der) - 2 or der[2:4] != b"\x04\x08" or der[12] != 0x02:
        raise ValueError("no salt and iteration count")
    if der[13] != len(der) - 14:
        raise ValueError("no iteration count")
    iterations = int.from_bytes(der[14:], "big", signed=True)
    if not 0 < iterations <= _ITERATIONS_MAX:
        raise ValueError(f"an iteration count of {iterations}")
    return der[4:12], iterations


def _decrypt(text: bytes, password: str, salt: bytes, iterations: int) -> bytes:
    from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
    from cryptography.hazmat.primitives.ciphers import Cipher, modes

    if not password.isascii() or len(text) == 0 or len(text) % 8:
        raise ValueError("a password beyond ASCII" if text else "no bytes")
    derived = _derive(password.encode("ascii"), salt, iterations)
    decryptor = Cipher(TripleDES(derived[:24]), modes.CBC(derived[24:])).decryptor()
    plain = decryptor.update(text) + decryptor.finalize()
    padding = plain[-1]
    if not 1 <= padding <= 8 or plain[-padding:] != bytes([padding]) * padding:
        raise ValueError("bytes that its password does not open")
    return plain[:-padding]


@lru_cache(maxsize=8)
def _derive(password: bytes, salt: bytes, iterations: int) -> bytes:
    """24 bytes of key and 8 of IV, as Sun's JCE derives them: MD5 over and over, for each half of the salt apart.

    Kept: with the 200,000 iterations of a keystore of today it takes a third of a second of processor, and a worker of
    Spark's would do that again in each task.
    """
    first, second = salt[:4], salt[4:]
    if first == second:
        # Equal halves would give equal key halves. Sun's code means to reverse the first and has a slip in it,
        # which every keystore since then depends on.
        first = bytes([first[3], first[0], first[1], first[3]])
    derived = b""
    for half in (first, second):
        for _ in range(iterations):
            half = hashlib.md5(half + password, usedforsecurity=False).digest()
        derived += half
    return derived
