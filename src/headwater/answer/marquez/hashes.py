"""Versions of jobs and schemas as Marquez computes them: from what they are made of, so that two servers agree. Pure."""

import hashlib
import uuid
from collections.abc import Iterable

from headwater.answer.marquez.shapes import DatasetId, Field, JobId


def hashed(*parts: str | None) -> uuid.UUID:
    """Return Marquez's version 3 UUID: MD5 over the parts with colons between them; absent ones leave no colon."""
    text = ":".join(part for part in parts if part is not None)
    digest = hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()
    return uuid.UUID(bytes=digest, version=3)


def job_version(
    job: JobId, inputs: Iterable[DatasetId], outputs: Iterable[DatasetId], location: str | None
) -> uuid.UUID:
    """The version of a job with these inputs, outputs and this code location; it depends on nothing else."""
    return hashed(job.namespace, job.name, _flat(inputs), _flat(outputs), location or None)


def _flat(ids: Iterable[DatasetId]) -> str:
    return ":".join(f"{one.namespace}:{one.name}" for one in sorted(ids))


def schema_version(dataset: DatasetId, fields: Iterable[Field]) -> uuid.UUID:
    """The version of a dataset's columns: names and types, in any order."""
    told = sorted(f"{field.name}:{field.type}" if field.type is not None else field.name for field in fields)
    return hashed(dataset.namespace, dataset.name, ":".join(told))
