"""The code, the parameters and the amounts that the facets of a run report."""

from collections.abc import Mapping

import msgspec

from headwater.answer.lineage import node


class Code(msgspec.Struct):
    version: str | None
    url: str | None
    dirty: bool | None


def read_amounts(facets: Mapping[str, bytes]) -> tuple[int | None, int | None, int | None]:
    """Return the rows, bytes and files that a run read of an input, by its input facets."""
    told, measured = node.plain(facets.get("inputStatistics")), node.plain(facets.get("dataQualityMetrics"))
    names = (("rowCount", "rowCount"), ("size", "bytes"), ("fileCount", "fileCount"))
    counts = [told.get(one, measured.get(other)) for one, other in names]
    rows, size, files = (one if isinstance(one, int) and 0 <= one < 2**63 else None for one in counts)
    return rows, size, files


def parameters_of(facets: dict[str, bytes]) -> dict[str, str]:
    items = node.plain(facets.get("executionParameters")).get("parameters")
    return {
        str(item["key"]): str(item.get("value", ""))
        for item in (items if isinstance(items, list) else [])
        if isinstance(item, dict) and "key" in item
    }


def code_of(run_facets: dict[str, bytes], job_facets: dict[str, bytes]) -> Code | None:
    location, local = node.plain(job_facets.get("sourceCodeLocation")), node.plain(run_facets.get("headwater_code"))
    if not location and not local:
        return None
    dirty = local.get("dirty")
    return Code(
        _text(location.get("version")) or _text(local.get("version")),
        _text(location.get("url")) or _text(location.get("repoUrl")),
        dirty if isinstance(dirty, bool) else None,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
