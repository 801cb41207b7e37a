"""One address in its written form, and its meaning: the transport, the whole URL, the key, the kind of server.

    http(s)://host          Headwater, or any server that speaks OpenLineage at /api/v1/lineage; datahub+http(s)://, openmetadata+http(s)://,
                            marquez+http(s)://, custom+http(s)://host/exactly/this/path for the others
    amqp(s)://user:password@host:port/vhost?queue=headwater.events
    file:///path.ndjson     console:

The part before the `@` of an http address is the key of that server only. Reads no environment and opens nothing.
Endpoints: DataHub's docs/lineage/openlineage.md, OpenMetadata's API reference (lineage/openlineage), OpenLineage HTTP API 2.0.2.
"""

import re
from pathlib import Path
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit, urlunsplit
from zlib import crc32

import msgspec

ENDPOINT = "api/v1/lineage"
QUEUE = "headwater.events"
BACKENDS = {
    "headwater": ENDPOINT,
    "marquez": ENDPOINT,
    "openlineage": ENDPOINT,
    "custom": ENDPOINT,
    "datahub": "openapi/openlineage/api/v1/lineage",
    "openmetadata": "api/v1/openlineage/lineage",
}
_EXACT = frozenset({"openlineage", "custom"})  # a path in the address is the whole path
_SINGLY = frozenset({"datahub", "openmetadata"})  # they have no `…/lineage/batch` that takes an array
REMOTE = frozenset({"http", "amqp"})


class Destination(msgspec.Struct, frozen=True, kw_only=True):
    """The destination of events, and their spool.

    `transport`: `http`, `amqp`; `console` (stderr) and `file` (NDJSON) for looking at events; `spool` (stored, not sent yet); `none` (dropped).
    `url`: the whole address without secrets, of `POST …/lineage` or of the broker; `source`: the setting that won. `others`: further
    destinations of the same events; `flush_away`: at the end, try a server that does not answer `once` more, or `retry` until the time is over.
    """

    transport: str
    url: str = ""
    api_key: str | None = None
    credentials: str = ""  # a broker's `user:password`, percent-encoded as in the address
    queue: str = QUEUE
    backend: str = "headwater"
    file: Path | None = None
    spool: Path
    flush_seconds: float = 5.0
    flush_away: str = "once"
    cap_bytes: int = 256 << 20
    full: str = "drop-oldest"
    fsync: str = "never"
    source: str = "default"
    others: tuple["Destination", ...] = ()

    def __repr__(self) -> str:
        """Omit key and credentials, because hosts log their arguments."""
        return f"Destination({', '.join(one.redacted for one in self.each)} by {self.source}, spool {self.spool})"

    @property
    def each(self) -> tuple["Destination", ...]:
        """Return this destination and the others."""
        return self, *self.others

    @property
    def remote(self) -> bool:
        """True if events wait in a spool until the server or broker has them."""
        return self.transport in REMOTE

    @property
    def batches(self) -> bool:
        """True if an array at `…/batch` is worth a try."""
        return self.backend not in _SINGLY

    @property
    def base(self) -> str:
        """Return scheme, host and port of an http server, as in `OPENLINEAGE_URL`. Empty for other transports."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}" if self.transport == "http" else ""

    @property
    def endpoint(self) -> str:
        """Return the path without its leading slash, as in `OPENLINEAGE_ENDPOINT`."""
        return urlsplit(self.url).path.lstrip("/") if self.transport == "http" else ""

    @property
    def redacted(self) -> str:
        """Return the address for display, without secrets."""
        if self.transport == "amqp":
            return f"{self.url}?queue={quote(self.queue)}"
        return self.url or (f"file://{self.file}" if self.file else f"{self.transport}:")

    @property
    def address(self) -> str:
        """Return the address as in `HEADWATER_URL`, with its secrets, for a broker's client and for child processes."""
        parts = urlsplit(self.url)
        if self.transport == "amqp":
            netloc = f"{self.credentials}@{parts.netloc}" if self.credentials else parts.netloc
            return urlunsplit((parts.scheme, netloc, parts.path, f"queue={quote(self.queue, safe='')}", ""))
        if self.transport == "http":
            key = quote(self.api_key, safe="") if self.api_key else ""
            scheme = parts.scheme if self.backend in {"headwater", "marquez"} else f"{self.backend}+{parts.scheme}"
            return urlunsplit((scheme, f":{key}@{parts.netloc}" if key else parts.netloc, parts.path, "", ""))
        return f"file://{quote(str(Path(self.file).absolute()))}" if self.file else f"{self.transport}:"

    @property
    def folder_name(self) -> str:
        """Return the name of this destination's folder in a shared spool, which depends only on the address."""
        host = re.sub(r"[^a-z0-9.]+", "-", urlsplit(self.url).netloc.lower()).strip("-")
        return f"{self.transport}-{host}-{self.mark}"

    @property
    def mark(self) -> str:
        """Return the mark of this address in the names of its segments; empty if the events are for no server."""
        return f"{crc32(self.redacted.encode()):08x}" if self.remote else ""


def parse(text: str, *, spool: Path, backend: str | None = None, endpoint: str = ENDPOINT) -> Destination | None:
    """Parse one address; None if it cannot be understood. Commas separate addresses: see `split`.

    `backend` (one of BACKENDS) and `endpoint` complete a bare http address; a backend in the address wins.
    """
    text = text.strip()
    prefix, plus, rest = text.partition("+")
    if plus and prefix.lower() in BACKENDS and rest.lower().startswith(("http://", "https://")):
        text, backend = rest, prefix.lower()
    try:
        parts = urlsplit(text if "://" in text or text.lower().startswith("console:") else f"http://{text}")
        kind = {"amqp": _amqp, "amqps": _amqp, "file": _file, "console": _console}.get(parts.scheme)
        if kind is not None:
            return kind(parts, spool)
    except ValueError:  # a port that is not a number, brackets that do not close
        return None
    whole = lineage_url(text, BACKENDS[backend] if backend else endpoint, exact=backend in _EXACT)
    if whole is None:
        return None
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    known = backend or ("headwater" if whole.endswith("/lineage") else "custom")
    return Destination(
        transport="http", url=whole, api_key=unquote(password or user) or None, backend=known, spool=spool
    )


def _amqp(parts: SplitResult, spool: Path) -> Destination | None:
    if not parts.hostname or parts.port == 0:
        return None
    userinfo, _, host = parts.netloc.rpartition("@")
    queue = parse_qs(parts.query).get("queue", [QUEUE])[0]
    url = urlunsplit((parts.scheme, host, parts.path or "/", "", ""))
    return Destination(transport="amqp", url=url, credentials=userinfo, queue=queue, spool=spool)


def _file(parts: SplitResult, spool: Path) -> Destination | None:
    if parts.netloc not in {"", "localhost"} or not parts.path.strip("/"):
        return None
    return Destination(transport="file", file=Path(unquote(parts.path)), spool=spool)


def _console(parts: SplitResult, spool: Path) -> Destination | None:
    return Destination(transport="console", spool=spool) if not (parts.netloc or parts.path) else None


def split(text: str) -> list[str]:
    """Split a list of addresses at commas. A comma inside an address is written %2C."""
    return [one.strip() for one in text.split(",") if one.strip()]


def without_secrets(text: str) -> str:
    """Return an address that was not understood, without secrets, for a log line."""
    return re.sub(r"(://)?[^/@]*@", r"\1…@", text)


def lineage_url(address: str, endpoint: str = ENDPOINT, *, exact: bool = False) -> str | None:
    """Return the whole address of `POST …/lineage` for a server, with or without that path; None if it is not http(s).

    `h:5000`, `http://h:5000`, `http://h:5000/` and `http://h:5000/api/v1/lineage` are the same; another path is a prefix (or, if `exact`, the
    whole path); parts of the endpoint in the path are not repeated.
    """
    text = address.strip()
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        usable = parts.scheme.lower() in {"http", "https"} and bool(parts.hostname) and (parts.port or 80) > 0
    except ValueError:  # a port that is not a number
        return None
    if not usable:
        return None
    path = parts.path.rstrip("/")
    if not path.endswith("/lineage") and not (exact and path):
        given, wanted = path.split("/"), endpoint.strip("/").split("/")
        shared = max(n for n in range(len(wanted) + 1) if given[len(given) - n :] == wanted[:n])
        path = "/".join([*given, *wanted[shared:]])
    return urlunsplit((parts.scheme.lower(), parts.netloc.rpartition("@")[2], path, "", ""))
