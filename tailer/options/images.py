"""What a user can ask of images, as one value, and what else cannot be asked with it. Opens nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal

from tailer.errors import UsageError
from tailer.options.declared_images import IMAGES
from tailer.options.tail import TailOptions
from tailer.options.token_range import TokenRange

_DEFAULTS: Final = {option.name: option.default_for(spark=False) for option in IMAGES}


@dataclass(frozen=True, slots=True)
class ImageOptions:
    """Those of `declared_images.IMAGES`."""

    image: Literal["after", "both"]
    image_state: Path | None = None
    tokens: TokenRange | None = None
    no_expirations: bool = False
    gc_grace: float | None = None

    @property
    def before(self) -> bool:
        """Whether images show rows as they were, too."""
        return self.image == "both"


def image_options(values: Mapping[str, Any]) -> ImageOptions | None:
    """The options of images among others, checked each for itself; None for a run of rows."""
    given = {field.name: values[field.name] for field in fields(ImageOptions) if values.get(field.name) is not None}
    if "image" in given:
        return ImageOptions(**given)
    left = [name for name, value in given.items() if value != _DEFAULTS[name]]
    if left:
        raise UsageError(f"--{left[0].replace('_', '-')} is for images", remedy="Ask for them with --image after.")
    return None


def split_images(options: Mapping[str, Any]) -> tuple[dict[str, Any], ImageOptions | None]:
    """Keywords of Python without those of images, and what these ask for. UsageError for a value that is none."""
    known = {option.name: option for option in IMAGES if option.python}
    own = {
        name: value if value is None else known[name].kind.take(value, name)
        for name, value in options.items()
        if name in known
    }
    return {name: value for name, value in options.items() if name not in known}, image_options(own)


def check_images(options: TailOptions) -> None:
    """UsageError for what images cannot be made of."""
    refused = {
        "--with-origin": options.with_origin,
        "--with-primary": options.with_primary,
        "--replicas primary": options.replicas == "primary",
    }
    for word, given in refused.items():
        if given:
            raise UsageError(
                f"{word} and images: an image is of all replicas' rows, in the generic form",
                remedy=f"Leave out {word}, or --image.",
            )
