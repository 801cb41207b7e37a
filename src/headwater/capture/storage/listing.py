"""A listing of storage: a stream of texts, and the number of other entries."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Listing:
    """`texts` arrive while storage is walked, some of them repeatedly; `ignored`: the entries so far that are not data of an instance.

    where: for display, without passwords. storage: recorded as the storage of adopted versions; available after the last text.
    """

    where: str
    texts: Iterator[str] = field(default_factory=lambda: iter(()))
    ignored: int = 0
    storage: dict[str, Any] | None = None
