"""xxh3-128 over pieces that are produced meanwhile."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from headwater.client.fingerprint.ahead import ahead
from headwater.client.fingerprint.parts import part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headwater.client.fingerprint.streams import Tally

_SMALL = 4 << 20  # stored bytes below which a thread costs more than it saves
_BETWEEN = 0.05  # seconds between two reports of progress


def digest(
    pieces: Iterator[bytes] | Iterator[bytes | memoryview],
    tally: Tally,
    size: int | None,
    progress: Callable[[int], object] | None = None,
    *,
    overlap: bool = True,
) -> tuple[str, int]:
    """Return the hex of xxh3-128 over the pieces, and their length. A thread reads and decompresses large files while this one hashes;
    `overlap`: False if the pieces do that themselves."""
    state, length, said = part("xxhash").xxh3_128(), 0, 0.0
    alone = not overlap or (size is not None and size < _SMALL)
    with nullcontext(pieces) if alone else ahead(pieces) as ready:
        for piece in ready:
            state.update(piece)
            length += len(piece)
            if progress is not None and (now := time.monotonic()) - said > _BETWEEN:
                said = now
                progress(tally.stored)
    if progress is not None:
        progress(tally.stored)
    return state.hexdigest(), length
