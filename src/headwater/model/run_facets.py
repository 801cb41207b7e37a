"""Decode what a run says of its own lineage: statements that its producer could not read, and warnings of Headwater's capture."""

from typing import ClassVar

import msgspec

from headwater.model.facets import clean
from headwater.model.parts import PartDecoder

EXTRACTION_ERROR, WARNINGS = "extractionError", "headwater_warnings"
_LONGEST = 300


class ExtractionError(msgspec.Struct, frozen=True):
    """`failed` of `total` parts of the job's work could not be read; `messages`: why, each once."""

    total: int
    failed: int
    messages: list[str]


class _Error(msgspec.Struct, rename="camel"):
    error_message: str | None = None


class _ExtractionError(msgspec.Struct, rename="camel"):
    MAY_GO: ClassVar = ("errors",)

    total_tasks: int = 0
    failed_tasks: int = 0
    errors: list[_Error] | None = None


class _Warnings(msgspec.Struct):
    warnings: list[str] | None = None


_extraction_error = PartDecoder(_ExtractionError)
_warnings = PartDecoder(_Warnings)


def extraction_error(body: bytes) -> ExtractionError:
    """The values of OpenLineage's `extractionError` facet of a run."""
    read = _extraction_error.decode(body)
    messages = dict.fromkeys(_line(each.error_message) for each in read.errors or () if each.error_message)
    return ExtractionError(max(read.total_tasks, 0), max(read.failed_tasks, 0), list(messages))


def warnings(body: bytes) -> list[str]:
    """The texts of a `headwater_warnings` facet: what Headwater's capture did not see."""
    return [_line(text) for text in _warnings.decode(body).warnings or ()]


def _line(text: str) -> str:
    """Return the first line that has words, at most 300 characters of it."""
    first = next((line.strip() for line in clean(text).splitlines() if line.strip()), "")
    return first if len(first) <= _LONGEST else f"{first[: _LONGEST - 1]}…"
