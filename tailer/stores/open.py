"""Which store a text means."""

from __future__ import annotations

from pathlib import Path

from tailer.stores.folder_store import FolderStore
from tailer.stores.object_store import ObjectStore
from tailer.stores.store import Store


def open_store(where: str) -> Store:
    """The store of a folder's path, or of a URI such as `s3://BUCKET/PATH`. UsageError for what is neither."""
    return ObjectStore(where) if "://" in where else FolderStore(Path(where))
