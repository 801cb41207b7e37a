"""Read a request's body up to a limit, without a byte order mark (RFC 8259, 8.1), and unpack gzip, whose content has the same limit."""

import zlib
from codecs import BOM_UTF8
from typing import Any

from litestar import Request

from headwater.errors import InvalidEvent, TooLarge


async def read(request: Request[Any, Any, Any], limit: int) -> bytes:
    """Return the body. Raises TooLarge past the limit (a small gzip body may be a bomb) and InvalidEvent when it cannot be unpacked."""
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise TooLarge(f"the body is over {limit} bytes; send smaller batches", limit=limit)
        chunks.append(chunk)
    body = b"".join(chunks)
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding in {"", "identity"}:
        return body.removeprefix(BOM_UTF8)
    if encoding != "gzip":
        raise InvalidEvent(f"Content-Encoding {encoding[:40]!r} is not supported; send gzip or none")
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(body, limit + 1)
    except zlib.error as error:
        raise InvalidEvent(f"the body is not gzip: {error}. Send gzip, or omit Content-Encoding") from error
    if len(unpacked) > limit:
        raise TooLarge(f"the unpacked body is over {limit} bytes; send smaller batches", limit=limit)
    if not unpacker.eof:
        raise InvalidEvent("the gzip body is truncated: send it again in full")
    return unpacked.removeprefix(BOM_UTF8)
