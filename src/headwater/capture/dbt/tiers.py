"""The tier of a model: how important it is, as its `meta` or its tags have it."""

import re
from collections.abc import Iterable
from typing import Any

# `tier1` is a tier, and `tiers` or `tiered` is not.
_TAG = re.compile(r"tier(?:\s*[:=_-]\s*|\s+|(?=\d))(\w[\w -]*)", re.IGNORECASE)
_WRITTEN = re.compile(r"\{\{-?\s*config\s*\((?:(?!\}\}).)*?[\"']tier[\"']?\s*[:=_-]\s*[\"']?(\w[\w-]*)", re.DOTALL)


def tier_of(config: Any, properties: Any = None) -> str:
    """Return the tier of a model by its configuration, and by its properties in a manifest or a file; "" for none.

    `meta` goes before tags (`tier:gold`, `tier-1`).
    """
    both = [one for one in (config, properties) if isinstance(one, dict)]
    for one in both:
        about = one.get("meta")
        if isinstance(about, dict) and about.get("tier") not in {None, ""}:
            return str(about["tier"])
    for one in both:
        tags = one.get("tags")
        if tier := tier_of_tags(tags if isinstance(tags, list) else [tags]):
            return tier
    return ""


def tier_of_text(text: str) -> str:
    """Return the tier that the configuration in a model's own text gives it, in `meta` or `tags`; "" for none."""
    match = _WRITTEN.search(text)
    return match[1] if match else ""


def tier_of_tags(tags: Iterable[Any]) -> str:
    """Return what the first tag of a tier says: `gold` of `tier:gold`, `1` of `tier-1`; "" without one."""
    return next((match[1] for one in tags if isinstance(one, str) and (match := _TAG.fullmatch(one))), "")
