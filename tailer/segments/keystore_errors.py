"""The errors of a keystore's contents, whichever kind it is of."""

from __future__ import annotations

from collections.abc import Collection

from tailer.errors import DefinitionError


def check_alias(alias: str, known: Collection[str], file: str) -> None:
    """DefinitionError where no secret key has the alias. `known`: the aliases of secret keys, in lower case."""
    if alias.lower() not in known:
        raise DefinitionError(
            "no such secret key in the keystore",
            file=file,
            expected=alias,
            found=f"secret keys {', '.join(sorted(known))}" if known else "no secret key at all",
            remedy="Give the keystore of the server that wrote this log.",
        )


def wrong_password(file: str) -> DefinitionError:
    """The error of a keystore whose digest does not check."""
    return DefinitionError(
        "the keystore's password is wrong, or the file is damaged: its digest does not check",
        file=file,
        remedy="Give the keystore's own password.",
    )


def not_opened(alias: str, file: str, error: Exception) -> DefinitionError:
    """The error of a key that its password does not open."""
    return DefinitionError(
        f"secret key {alias!r} cannot be opened",
        file=file,
        found=str(error),
        remedy="If the key's password differs from the keystore's, give that one too.",
    )
