"""Derive ids from content: the same fact has the same id on every server and after every replay."""

import contextlib
import hashlib
import re
import uuid
from collections.abc import Iterable
from functools import lru_cache

from headwater.model.canonical import canonical
from headwater.model.names import DatasetName, JobName, bounded

# Every fingerprint is one of these; other versions mean something only with the name of their dataset.
_FINGERPRINT = re.compile(r"xxh3-128(?:-[a-z0-9]+)?:[0-9a-fA-F]{32}")
_NAMESPACE = uuid.UUID("6f0f8e2c-3c1b-5d0e-9a55-48656164776e")


def _derived(kind: str, *parts: str | bytes) -> uuid.UUID:
    """uuid5 over the parts. Each part is prefixed with its length; otherwise `a`, `bc` and `ab`, `c` would collide."""
    data = bytearray(kind.encode())
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        data += b"\0%d:" % len(raw)
        data += raw
    return uuid.UUID(bytes=hashlib.sha1(_NAMESPACE.bytes + data, usedforsecurity=False).digest()[:16], version=5)


def dataset_id(name: DatasetName) -> uuid.UUID:
    return _derived("dataset", name.namespace, name.name)


@lru_cache(maxsize=50_000)
def job_id(name: JobName) -> uuid.UUID:
    return _derived("job", bounded(name.namespace), bounded(name.name))


def run_id(text: str) -> tuple[uuid.UUID, bool]:
    """The run's UUID, and whether the text is one. Any other text gets the id that Marquez gives it: version 3, without a namespace."""
    try:
        return uuid.UUID(text), True
    except ValueError:
        digest = hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()
        return uuid.UUID(bytes=digest, version=3), False


def run_ids(texts: Iterable[str]) -> set[uuid.UUID]:
    """Return those of the runs' names that are ids of events."""
    found = set()
    for text in texts:
        with contextlib.suppress(ValueError):
            found.add(uuid.UUID(text))
    return found


def dataset_version_id(dataset: uuid.UUID, run: uuid.UUID, job: uuid.UUID, external: str) -> uuid.UUID:
    """The version of a dataset that one run wrote. `external`: a Delta version or Iceberg snapshot, or empty."""
    return _derived("version", dataset.bytes, run.bytes, job.bytes, external)


def static_version_id(dataset: uuid.UUID, content: uuid.UUID) -> uuid.UUID:
    """A version that a DatasetEvent reports. It has no run; its content is its identity."""
    return _derived("static version", dataset.bytes, content.bytes)


def correlated_run_id(run: uuid.UUID, job: uuid.UUID) -> uuid.UUID:
    """The correlation node of a run of a job."""
    return _derived("correlated run", run.bytes, job.bytes)


def correlated_content_id(dataset: uuid.UUID, external: str) -> uuid.UUID:
    """The correlation node of a dataset's content. `external`: a snapshot's id or a fingerprint."""
    return _derived("correlated content", dataset.bytes, external)


def declaration_id(digest: bytes) -> uuid.UUID:
    """The report id of the lineage that a JobEvent or DatasetEvent declares, in place of a run id."""
    return _derived("declaration", digest)


def content_id(content: bytes) -> uuid.UUID:
    """The id of a facet body or a set of column edges, derived from its content."""
    return _derived("content", content)


def event_digest(body: bytes) -> bytes:
    """16 bytes over the event's canonical form: two bodies that mean the same have the same digest. Identifies the event in the log, and breaks
    ties of event time. A body without a canonical form has the digest of its bytes."""
    with contextlib.suppress(ValueError):
        return bytes_digest(canonical(body))
    return bytes_digest(body)


def bytes_digest(body: bytes) -> bytes:
    """16 bytes over an event's bytes: its digest in logs of before digests were by meaning, which keep it."""
    return hashlib.blake2b(body, digest_size=16).digest()


def digests_of(body: bytes) -> set[bytes]:
    """The digests under which a log may have the body."""
    return {event_digest(body), bytes_digest(body)}


def fingerprint(text: str) -> str | None:
    """The text as a fingerprint, in the spelling it is kept in; None when it is none."""
    return text.lower() if _FINGERPRINT.fullmatch(text) else None
