"""Events of what changed since the last pull: the same content is sent once, and what is gone is said once."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec

Event = dict[str, Any]


class Changes:
    """Compares content with that of the last pull, by key. `digests`: what to put in the cursor."""

    def __init__(self, before: Mapping[str, str] | None) -> None:
        self._before = dict(before or {})
        self.digests: dict[str, str] = {}

    def is_new(self, key: str, content: object) -> bool:
        """Note the content of a key; return whether it differs from that of the last pull."""
        told = msgspec.json.encode(content, order="deterministic")
        digest = self.digests[key] = blake2b(told, digest_size=8).hexdigest()
        return self._before.get(key) != digest

    def gone(self) -> list[str]:
        """Return the keys of the last pull that this one did not note."""
        return [key for key in self._before if key not in self.digests]
