"""The arguments of `headwater.step`, which explains them."""

from collections.abc import Mapping
from typing import Any

import msgspec


class StepArguments(msgspec.Struct, frozen=True, kw_only=True):
    """`parent`: a `Step` or a `context.Parent`."""

    name: str
    version: str | None = None
    inputs: tuple[Any, ...] = ()
    namespace: str | None = None
    details: Mapping[str, object] | None = None
    facets: Mapping[str, Mapping[str, Any]] | None = None
    job_facets: Mapping[str, Mapping[str, Any]] | None = None
    force: bool = False
    parent: Any = None
