"""An object store through pyarrow's file systems: the one owner of how its address is read and what it refuses means.

Credentials come from where the store's own library looks for them (AWS_ACCESS_KEY_ID and its like, profiles, the
machine's role), never from the address. An object is there whole or not at all, and sent again it takes its own place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from tailer.errors import SystemFailedError, UsageError
from tailer.stores.store import PART_BYTES

_REFUSED: Final = (
    "ACCESS_DENIED", "NO_SUCH_BUCKET", "INVALID_ACCESS_KEY_ID", "INVALID_CLIENT_TOKEN_ID", "SIGNATURE_DOES_NOT_MATCH",
    "MISSING_AUTHENTICATION_TOKEN", "UNRECOGNIZED_CLIENT", "EXPIRED_TOKEN", "RESOURCE_NOT_FOUND", "PERMISSION_DENIED",
    "UNAUTHENTICATED", "INVALID_ARGUMENT",
)  # fmt: skip
"""In what pyarrow says of a store: what only a person mends."""


class ObjectStore:
    """A Store. UsageError for an address that pyarrow does not take, that names no bucket, or that has a secret."""

    def __init__(self, where: str) -> None:
        from pyarrow.fs import FileSystem

        parts = urlsplit(where)
        if "@" in parts.netloc:
            raise UsageError(
                "the object store's address has a key in it",
                remedy="Give it in the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile.",
            )
        # Without what stands behind `?`: options of the client, which may be secrets too.
        self.where = f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")
        try:
            system, root = FileSystem.from_uri(where)
        except (ValueError, TypeError, OSError) as error:
            raise UsageError(
                "the object store's address is not understood",
                expected="a URI that pyarrow knows, such as s3://BUCKET/PATH",
                found=f"{self.where} ({error})",
            ) from error
        if not root.strip("/"):
            raise UsageError(
                "the object store's address names no bucket", expected="s3://BUCKET/PATH", found=self.where
            )
        self._system: Any = system
        self._root = root.rstrip("/")

    def put(self, name: str, parts: Iterable[bytes]) -> None:
        path = self._path(name)
        try:
            with self._told("cannot write", name), self._system.open_output_stream(path, compression=None) as out:
                for part in parts:
                    out.write(part)
        except FileNotFoundError as error:
            raise SystemFailedError(f"cannot write: {error}", file=f"{self.where}/{name}") from error

    def parts(self, name: str) -> Iterator[bytes]:
        path = self._path(name)
        with self._told("cannot read", name), self._system.open_input_stream(path, compression=None) as file:
            while part := file.read(PART_BYTES):
                yield part

    def names(self, folder: str) -> list[str]:
        from pyarrow.fs import FileSelector

        try:
            with self._told("cannot list", folder):
                found = self._system.get_file_info(FileSelector(self._path(folder), allow_not_found=True))
        except NotADirectoryError:
            return []
        return sorted(each.base_name for each in found)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}".rstrip("/")

    @contextmanager
    def _told(self, what: str, name: str) -> Iterator[None]:
        """What is worth another try, and what is not; a file that is not there says so itself."""
        try:
            yield
        except (FileNotFoundError, NotADirectoryError):
            raise
        except OSError as error:
            where, text = f"{self.where}/{name}".rstrip("/"), str(error)
            if any(word in text for word in _REFUSED):
                remedy = "Mend the address or the rights."
                raise UsageError(f"the object store refuses: {what}", file=where, found=text, remedy=remedy) from error
            raise SystemFailedError(f"the object store: {what}: {text}", file=where) from error
