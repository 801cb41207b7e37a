"""OpenLineage names of datasets and jobs, and their node ids.

The only place that converts a location to (namespace, name), normalises spellings, and shortens names for display. Sources: the OpenLineage
naming page, and other spellings that real producers use.
"""

import hashlib
import os.path
import re
from urllib.parse import unquote, urlsplit

import msgspec

# Schemes with several spellings: each key is replaced by its value.
SCHEME_ALIASES = {
    "s3a": "s3",
    "s3n": "s3",
    "abfs": "abfss",
    "wasb": "wasbs",
    "postgresql": "postgres",
    "sqlserver": "mssql",
    "gcs": "gs",
}
# Object stores: the name is the object's key, without a leading slash.
_OBJECT_STORES = frozenset({"s3", "gs"})
_PARTITION = re.compile(r"^[^/=]+=[^/]*$")
_DEFAULT_PORTS = {"postgres": 5432, "mysql": 3306, "mssql": 1433, "oracle": 1521, "db2": 50000, "redshift": 5439}


# A colon inside of a namespace or a name of a node id that says where they end.
_COLON = re.compile("%3a", re.IGNORECASE)

# Bytes of UTF-8. A PostgreSQL index row holds at most 2,704 bytes, and some index both a namespace and a name.
LONGEST = 1200


def bounded(text: str, longest: int = LONGEST) -> str:
    """The text if it is at most `longest` bytes, else its beginning and a digest of the whole. Idempotent; different texts stay different."""
    if len(text) * 4 <= longest:
        return text
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= longest:
        return text
    digest = hashlib.blake2b(raw, digest_size=16).hexdigest()
    return raw[: longest - len(digest) - 3].decode("utf-8", "ignore") + "…" + digest


class DatasetName(msgspec.Struct, frozen=True, order=True):
    """A dataset's identity: OpenLineage `namespace` and `name`."""

    namespace: str
    name: str

    @property
    def node_id(self) -> str:
        return f"dataset:{self.namespace}:{self.name}"


class JobName(msgspec.Struct, frozen=True, order=True):
    """A job's identity: OpenLineage `namespace` and `name`."""

    namespace: str
    name: str

    @property
    def node_id(self) -> str:
        return f"job:{self.namespace}:{self.name}"


def normalised(namespace: str, name: str) -> DatasetName:
    """Normalise the spelling of a dataset's name: schemes and slashes.

    Idempotent, and conservative: `s3a://b` becomes `s3://b`; `file://` and `file:///` become `file`; a trailing slash and the leading slash of
    an object key are removed; a name too long for an index is cut (`bounded`). Anything else is unchanged.
    """
    scheme, separator, rest = namespace.partition("://")
    if separator:
        scheme = SCHEME_ALIASES.get(scheme.lower(), scheme.lower())
        rest = rest.rstrip("/")
        namespace = f"{scheme}://{rest}" if rest else (scheme if scheme == "file" else f"{scheme}://")
    elif namespace.rstrip(":/") == "file":
        namespace = "file"
    if len(name) > 1 and is_path(namespace):
        name = name.rstrip("/") or "/"
        if scheme in _OBJECT_STORES:
            name = name.lstrip("/") or "/"
    return DatasetName(bounded(namespace), bounded(name))


def job_name(namespace: str, name: str) -> JobName:
    """A job's name as it is stored: cut (`bounded`) if it is too long for an index."""
    return JobName(bounded(namespace), bounded(name))


def is_path(namespace: str) -> bool:
    """Return whether names of this namespace are paths."""
    return namespace == "file" or namespace.split("://", 1)[0] in {
        "file", "s3", "gs", "hdfs", "abfss", "wasbs", "dbfs",
    }  # fmt: skip


def from_location(location: str, *, base: str | None = None, partitions: bool = False) -> DatasetName:
    """The dataset name of a path or URI of a file, folder or object.

    Relative paths start at `base` (default: the working directory). Partition segments at the end (`day=2013-01-01`, and the files below
    them) are removed, so all partitions are one dataset; with `partitions` they stay, and the server folds them. Spark's `file:/x` and
    `file:///x` are both `file` + `/x`.
    """
    cut = (lambda path: path) if partitions else without_partitions
    match = re.match(r"^([A-Za-z][A-Za-z0-9+.\-]*):(?!\\)(.*)$", location, re.DOTALL)
    if not match or len(match[1]) == 1:
        absolute = os.path.normpath(os.path.join(base or os.getcwd(), location))  # noqa: PTH118, PTH109
        return DatasetName("file", cut(absolute))
    scheme = SCHEME_ALIASES.get(match[1].lower(), match[1].lower())
    rest = match[2]
    host, path = ("", rest)
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        path = slash + path
    path = cut(path)
    if scheme == "file":
        return normalised(f"file://{host}" if host not in {"", "localhost"} else "file", unquote(path) or "/")
    return normalised(f"{scheme}://{host}", path or "/")


def location(name: DatasetName) -> str:
    """The location of a dataset whose namespace `is_path`; the inverse of `from_location`."""
    return name.name if name.namespace == "file" else f"{name.namespace}/{name.name.lstrip('/')}"


def without_partitions(path: str) -> str:
    """The path up to its first `key=value` segment: `/t/day=1/part-0.parquet` is `/t`. A path of partitions only stays whole."""
    segments = path.split("/")
    for index, segment in enumerate(segments):
        if _PARTITION.match(segment) and any(segments[:index]):
            return "/".join(segments[:index])
    return path.rstrip("/") or path


def from_jdbc(url: str, table: str) -> DatasetName:
    """The dataset name of a table at a JDBC URL: `jdbc:postgresql://h:5432/db` + `s.t` is `postgres://h:5432` + `db.s.t`.

    Credentials and parameters in the URL are dropped. A table without a schema gets `public` on PostgreSQL and Redshift only.
    """
    text = url.removeprefix("jdbc:")
    parts = urlsplit(text.split(";", 1)[0])
    scheme = SCHEME_ALIASES.get(parts.scheme, parts.scheme)
    host = (parts.hostname or "").lower()
    if not host:
        return DatasetName(f"{scheme}://{parts.netloc}" if parts.netloc else text.split("?", 1)[0], table)
    port = parts.port or _DEFAULT_PORTS.get(scheme)
    database = parts.path.strip("/").split("/")[0]
    if not database and (parameter := re.search(r"(?i)database(?:name)?=([^;]+)", text)):
        database = parameter[1]
    clean = table.replace('"', "").replace("`", "").replace("[", "").replace("]", "")
    if scheme in {"postgres", "redshift"} and "." not in clean:
        clean = f"public.{clean}"
    namespace = f"{scheme}://{host}:{port}" if port else f"{scheme}://{host}"
    return DatasetName(namespace, f"{database}.{clean}" if database and not clean.startswith(f"{database}.") else clean)


def short(name: str) -> str:
    """The short form of a name: the last path segment, or the last dotted part of a table's name.

    `/data/clean/flights` is `flights`, `db.public.orders` is `orders`, `/data/report.html` is `report.html`.
    """
    if "/" in name:
        return name.rstrip("/").rsplit("/", 1)[-1] or name
    return name.rsplit(".", 1)[-1] or name


def suffixes_match(name: str, wanted: str) -> bool:
    """Return whether `name` is `wanted`, or ends with it after a `/`, `.` or `:`."""
    if name == wanted:
        return True
    return name.endswith(wanted) and name[-len(wanted) - 1] in "/.:"


def node_id_readings(node_id: str) -> list[DatasetName | JobName]:
    """All readings of a node id: namespaces and names may both contain colons, and only the store knows which one exists.

    `dataset:a:b:c` is (`a`, `b:c`) or (`a:b`, `c`); `dataset:a:b%3Ac` is (`a`, `b:c`). Empty if it is not the id of a dataset or a job.
    """
    kind, _, rest = node_id.partition(":")
    make: type[DatasetName] | type[JobName]
    if kind == "dataset":
        make = DatasetName
    elif kind == "job":
        make = JobName
    else:
        return []
    cuts = [i for i, char in enumerate(rest) if char == ":" and 0 < i < len(rest) - 1]
    found = [make(rest[:cut], rest[cut + 1 :]) for cut in cuts]
    if _COLON.search(rest):
        found += [make(with_colons(rest[:cut]), with_colons(rest[cut + 1 :])) for cut in cuts]
    return found


def with_colons(part: str) -> str:
    """Return a namespace or a name of a node id with `%3A` read as a colon."""
    return _COLON.sub(":", part)


def distinct_node_id(kind: str, *parts: str) -> str:
    """Return a node id that can be read in one way: colons of its parts are written `%3A`."""
    return ":".join((kind, *(part.replace(":", "%3A") for part in parts)))
