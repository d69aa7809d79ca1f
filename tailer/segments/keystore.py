"""The keystore of encrypted commit logs: which file, which passwords. What Cassandra's JKSKeyProvider reads.

Passwords come from the environment or from a file, never from a command line, and stand in no error text.
Reads no segment; the keystore's bytes are read in `jceks.py` and `pkcs12.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tailer.errors import UsageError
from tailer.limits import MIB
from tailer.segments.segment import KeySource, no_keys
from tailer.system_errors import system_error

PASSWORD_VARIABLE: Final = "CDC_TAIL_KEYSTORE_PASSWORD"
KEY_PASSWORD_VARIABLE: Final = "CDC_TAIL_KEY_PASSWORD"

_FILE_BYTES_MAX: Final = 16 * MIB
"""A keystore is a few kilobytes; a file beyond this is something else."""


def key_source(keystore: Path | None, password_file: Path | None) -> KeySource:
    """Where keys of encrypted segments come from; without a keystore there are none."""
    return no_keys if keystore is None else keystore_keys(keystore, password_file, os.environ)


def keystore_keys(path: Path, password_file: Path | None, environ: Mapping[str, str]) -> Callable[[str], bytes]:
    """A function from a key's alias to the key, over the keystore at `path`; each alias is unsealed once.

    The password file's first line is the keystore's password, its second (if there is one) the key's; without a file
    both are taken from `environ`. Raises UsageError for files and passwords that are not there; the function raises
    DefinitionError for a keystore that is neither JCEKS nor PKCS12, a wrong password, and an alias that is not in it.
    """
    # Only here: most runs have no keystore, and every command line names this module.
    from tailer.segments import jceks, pkcs12

    data = _read(path, "keystore")
    if len(data) > _FILE_BYTES_MAX:
        raise UsageError("no keystore is this large", file=str(path), found=f"over {_FILE_BYTES_MAX} bytes")
    password, key_password = _passwords(path, password_file, environ)
    read_secret_key = pkcs12.read_secret_key if data.startswith(pkcs12.BEGINS) else jceks.read_secret_key
    known: dict[str, bytes] = {}

    def key(alias: str) -> bytes:
        if alias not in known:
            known[alias] = read_secret_key(data, alias, password, key_password, str(path))
        return known[alias]

    return key


def _read(path: Path, what: str) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        raise UsageError(f"no such {what}", file=str(path)) from None
    except IsADirectoryError as error:
        raise UsageError(f"cannot read the {what}: {error.strerror}", file=str(path)) from None
    except OSError as error:
        raise system_error(f"cannot read the {what}", error, path) from None


def _passwords(path: Path, password_file: Path | None, environ: Mapping[str, str]) -> tuple[str, str]:
    """The keystore's password and the key's; the second is the first where it is not said."""
    if password_file is not None:
        try:
            lines = _read(password_file, "keystore password file").decode().splitlines()
        except UnicodeDecodeError:
            raise UsageError("the keystore password file is no UTF-8 text", file=str(password_file)) from None
        password, key_password = [*lines, "", ""][:2]
        where = f"the first line of {password_file}"
    else:
        password, key_password = environ.get(PASSWORD_VARIABLE, ""), environ.get(KEY_PASSWORD_VARIABLE, "")
        where = f"the environment variable {PASSWORD_VARIABLE}"
    if not password:
        raise UsageError(
            f"no password for the keystore in {where}",
            file=str(path),
            remedy=f"Set {PASSWORD_VARIABLE}, or give --keystore-password-file.",
        )
    return password, key_password or password
