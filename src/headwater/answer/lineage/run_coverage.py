"""The part of a run's reads that its producer traced, and the same in words."""

import msgspec

from headwater.answer.lineage import node


class UnseenRead(msgspec.Struct):
    what: str
    why: str


class RunCoverage(msgspec.Struct):
    """The part of a run's reads that its producer traced (the run facet `headwater_coverage`).

    `traced`: reads with columns; `through_function`: reads of which only the datasets are known; `not_seen`: the others, with `reasons`.
    `limits`: bounds that cut the search. `written`: datasets written. `summary`: all of it in words.
    """

    reads: int
    traced: int
    through_function: int
    not_seen: int
    reasons: list[UnseenRead]
    limits: list[str]
    written: int
    summary: str


def read_coverage(facet: bytes | None) -> RunCoverage | None:
    """Read the facet, with its counts in words; None without one."""
    told = node.plain(facet)
    if not told:
        return None
    reasons, limits = told.get("reasons"), told.get("limits")
    found = RunCoverage(
        _count(told.get("reads")),
        _count(told.get("traced")),
        _count(told.get("throughFunction")),
        _count(told.get("notSeen")),
        [
            UnseenRead(str(one.get("what", "")), str(one.get("why", "")))
            for one in (reasons if isinstance(reasons, list) else [])
            if isinstance(one, dict)
        ],
        [str(one) for one in (limits if isinstance(limits, list) else [])],
        _count(told.get("written")),
        "",
    )
    found.summary = _coverage_in_words(found)
    return found


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _coverage_in_words(found: RunCoverage) -> str:
    if not found.reads and not found.written:
        return "nothing was seen that it read or wrote"
    if not found.reads:
        return "nothing was seen that it read"
    parts = [f"{found.traced} of {found.reads} reads traced with columns"]
    if found.through_function:
        parts.append(f"{found.through_function} through a function")
    if found.not_seen:
        first = found.reasons[0] if found.reasons else None
        parts.append(f"{found.not_seen} not seen" + (f", because {first.what}: {first.why}" if first else ""))
    if not found.written:
        parts.append("nothing was seen that it wrote")
    return "; ".join(parts)
