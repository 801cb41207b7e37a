"""A fingerprint: a text that is equal for equal content, and how much was read for it."""

from typing import NamedTuple

CONTENT = "xxh3-128:"
FOLDER = "xxh3-128-dir:"
ROWS = "xxh3-128-rows:"


class Fingerprint(NamedTuple):  # dataclasses take as long to import as 50 MB to hash
    """`text` is compared and stored; the rest describes its source.

    `bytes`: of the content, after decompression; None for rows. `stored_bytes`: on the disk or in the store; None for rows.
    `kind`: plain, gzip, zstd, bz2, xz, zip, raw (stored bytes, on request), folder or rows.
    `members`: gzip members, streams, frames, files of an archive or a folder, rows.
    `ignored`: stored bytes after the end of a gzip or bz2 file that are neither a member nor padding, which gunzip and bunzip2 ignore too.
    """

    text: str
    bytes: int | None
    stored_bytes: int | None
    kind: str
    members: int = 1
    ignored: int = 0

    def __str__(self) -> str:
        return self.text
