"""`ship --to s3://…` and `gs://…`: each file as an object, then its index as another, by pyarrow's file systems.

Credentials come from where the store's own library looks for them (AWS_ACCESS_KEY_ID and its like, profiles, the
machine's role), never from the address. An object is there whole or not at all, and sent again it takes its own place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from tailer.errors import UsageError
from tailer.shipping.to_folder import other_files
from tailer.sinks.files.index import decode, index_name, indexed_numbers
from tailer.sinks.files.series import DataFile
from tailer.sinks.outlet import OutletKey, TargetAwayError

_REFUSED: Final = (
    "ACCESS_DENIED", "NO_SUCH_BUCKET", "INVALID_ACCESS_KEY_ID", "INVALID_CLIENT_TOKEN_ID", "SIGNATURE_DOES_NOT_MATCH",
    "MISSING_AUTHENTICATION_TOKEN", "UNRECOGNIZED_CLIENT", "EXPIRED_TOKEN", "RESOURCE_NOT_FOUND", "PERMISSION_DENIED",
    "UNAUTHENTICATED", "INVALID_ARGUMENT",
)  # fmt: skip
"""In what pyarrow says of a store: what only a person mends."""


def open_target(to: str, values: Mapping[str, Any], say: Callable[[str], None]) -> StoreTarget:
    """The target of an object store's address. UsageError for one that pyarrow does not take, or with a secret."""
    from pyarrow import fs

    parts = urlsplit(to)
    if "@" in parts.netloc:
        raise UsageError(
            "--to has a key in the address",
            remedy="Give it in the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile.",
        )
    name = f"{parts.scheme}://{parts.netloc}{parts.path}"
    try:
        system, path = fs.FileSystem.from_uri(to)
    except (ValueError, TypeError, OSError) as error:
        raise UsageError(f"--to {name}", found=str(error), remedy="Give SCHEME://BUCKET/FOLDER.") from error
    if not path.strip("/"):
        raise UsageError("--to names no bucket", found=name, remedy="Give SCHEME://BUCKET/FOLDER.")
    return StoreTarget(name, system, path.rstrip("/"))


class StoreTarget:
    """A Target: objects below FOLDER/NODE of a bucket."""

    keeps_numbers = True

    def __init__(self, name: str, system: Any, path: str) -> None:
        self.name = name
        self._system = system
        self._path = path

    def standing(self, node: str, key: OutletKey) -> int | None:
        from pyarrow import fs

        folder = f"{self._path}/{node}"
        with self._reached("listing what is there"):
            there = self._system.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        numbers = indexed_numbers(each.base_name for each in there)
        if not numbers:
            return None
        path = f"{folder}/{index_name(numbers[-1])}"
        with self._reached("reading an index"), self._system.open_input_stream(path) as stream:
            index = decode(stream.read(), Path(path))
        if index.of != key:
            raise other_files(index.of, key, f"{self.name}/{node}")
        return index.number

    def send(self, file: DataFile) -> None:
        folder, index = f"{self._path}/{file.node}", file.index
        if index.data:
            self._upload(f"{folder}/{index.data}", file.parts())
        self._upload(f"{folder}/{index_name(index.number)}", [index.encode()])

    def close(self) -> None:
        """No connection is kept."""

    def _upload(self, path: str, parts: Iterable[bytes]) -> None:
        with self._reached(f"writing {path}"), self._system.open_output_stream(path, compression=None) as stream:
            for part in parts:
                stream.write(part)

    @contextmanager
    def _reached(self, doing: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            text = str(error)
            if any(word in text for word in _REFUSED):
                raise UsageError(
                    f"{self.name}: {doing}", found=text, remedy="Mend the address or the rights."
                ) from error
            raise TargetAwayError(f"{self.name}: {doing}", found=text) from error
