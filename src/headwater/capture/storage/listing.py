"""What was found in storage: texts, one after the other, and what there was beside them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Listing:
    """`texts` come while storage is walked, some of them more than once; `ignored` counts, so far, what was there and is no data of an instance.

    where: for people; without passwords. storage: what a version that is adopted is said to be stored as, known when the texts are at their end.
    """

    where: str
    texts: Iterator[str] = field(default_factory=lambda: iter(()))
    ignored: int = 0
    storage: dict[str, Any] | None = None
