"""One address as people write it, and what it means: the transport, the whole URL, the key, who speaks there.

    http(s)://host          Headwater, or any server that speaks OpenLineage at /api/v1/lineage; datahub+http(s)://, openmetadata+http(s)://,
                            marquez+http(s)://, custom+http(s)://host/exactly/this/path for the others
    amqp(s)://user:password@host:port/vhost?queue=headwater.events
    file:///path.ndjson     console:

What stands before the `@` of an http address is the key of that server and of no other. Refuses to read the environment and to open anything.
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
_EXACT = frozenset({"openlineage", "custom"})  # a path that is given there is the whole path
_SINGLY = frozenset({"datahub", "openmetadata"})  # they have no `…/lineage/batch` that takes an array
REMOTE = frozenset({"http", "amqp"})


class Destination(msgspec.Struct, frozen=True, kw_only=True):
    """Where events go and where they wait.

    `transport`: `http`, `amqp`; `console` (stderr) and `file` (NDJSON) for looking at events; `spool` (kept, not sent yet); `none` (dropped).
    `url` is the whole address without secrets: of `POST …/lineage`, or of the broker; `source` says which setting won. `others`: where the
    same events go as well.
    """

    transport: str
    url: str = ""
    api_key: str | None = None
    credentials: str = ""  # of a broker, `user:password`, percent-encoded as they were given
    queue: str = QUEUE
    backend: str = "headwater"
    file: Path | None = None
    spool: Path
    flush_seconds: float = 5.0
    cap_bytes: int = 256 << 20
    full: str = "drop-oldest"
    fsync: str = "never"
    source: str = "default"
    others: tuple["Destination", ...] = ()

    def __repr__(self) -> str:
        """Without key and credentials: hosts log what they are given."""
        return f"Destination({', '.join(one.redacted for one in self.each)} by {self.source}, spool {self.spool})"

    @property
    def each(self) -> tuple["Destination", ...]:
        """This one and the others."""
        return self, *self.others

    @property
    def remote(self) -> bool:
        """Events wait in a spool until it has them."""
        return self.transport in REMOTE

    @property
    def batches(self) -> bool:
        """Whether an array at `…/batch` is worth a try."""
        return self.backend not in _SINGLY

    @property
    def base(self) -> str:
        """Scheme, host and port of an http server: what `OPENLINEAGE_URL` wants. Empty for other transports."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}" if self.transport == "http" else ""

    @property
    def endpoint(self) -> str:
        """The path without its leading slash: what `OPENLINEAGE_ENDPOINT` wants."""
        return urlsplit(self.url).path.lstrip("/") if self.transport == "http" else ""

    @property
    def redacted(self) -> str:
        """What people are told, without secrets."""
        if self.transport == "amqp":
            return f"{self.url}?queue={quote(self.queue)}"
        return self.url or (f"file://{self.file}" if self.file else f"{self.transport}:")

    @property
    def address(self) -> str:
        """The address as `HEADWATER_URL` takes it, with its secrets: for a broker's client and for a child process of ours."""
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
        """A name for this one's own folder in a spool it shares with others: the same as long as the address is."""
        host = re.sub(r"[^a-z0-9.]+", "-", urlsplit(self.url).netloc.lower()).strip("-")
        return f"{self.transport}-{host}-{crc32(self.redacted.encode()):08x}"


def parse(text: str, *, spool: Path, backend: str | None = None, endpoint: str = ENDPOINT) -> Destination | None:
    """What one address says; None when it cannot be understood. Commas separate addresses: see `split`.

    `backend` (one of BACKENDS) and `endpoint` say what a bare http address is completed with; a backend in the address wins.
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
    """The addresses of a list separated by commas. A comma inside of one is written %2C."""
    return [one.strip() for one in text.split(",") if one.strip()]


def without_secrets(text: str) -> str:
    """An address that was not understood, as a log line may show it."""
    return re.sub(r"(://)?[^/@]*@", r"\1…@", text)


def lineage_url(address: str, endpoint: str = ENDPOINT, *, exact: bool = False) -> str | None:
    """The whole address of `POST …/lineage` for a server given with or without it; None when it is not http(s).

    `h:5000`, `http://h:5000`, `http://h:5000/` and `http://h:5000/api/v1/lineage` are the same; another path is a prefix (or, if `exact`, the
    whole path); what the path has of the endpoint already is not said twice.
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
