"""All tools asked, one answer: who ran a query, with what, for which asset, as part of which job.

The most certain answer wins; among equals the tool nearest to the statement (dbt in an Airflow task is dbt). A field that it leaves open, another may
fill in: the job of a query that names its parent run, the Airflow task of a dbt statement that names no node.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from headwater.pipeline.query_log.who import (
    airflow,
    applications,
    databricks,
    dataform,
    dbt,
    hex,
    lightdash,
    looker,
    looker_studio,
    metabase,
    mode,
    openlineage,
    powerbi,
    redash,
    sigma,
    sqlcommenter,
    sqlmesh,
    superset,
    tableau,
    users,
)
from headwater.pipeline.query_log.who.config import Config, Kind
from headwater.pipeline.query_log.who.evidence import LOSSY, Attribution, Evidence

# Nearest to the statement first; names of applications and users last.
TOOLS = (
    dbt,
    looker,
    looker_studio,
    tableau,
    metabase,
    mode,
    sigma,
    hex,
    powerbi,
    redash,
    lightdash,
    superset,
    sqlmesh,
    dataform,
    airflow,
    databricks,
    openlineage,
    sqlcommenter,
    applications,
    users,
)
_RECOGNISERS: tuple[Callable[[Evidence, Config], Attribution | None], ...] = tuple(tool.recognise for tool in TOOLS)
# A comment without any of these is not looked at.
MARKS: tuple[str, ...] = tuple(dict.fromkeys(mark for tool in TOOLS for mark in tool.MARKS))
UNKNOWN: Final[Kind] = "unknown"


class Who(msgspec.Struct, frozen=True, kw_only=True):
    """The answer. `run` and `run_seed` say how the run's id is made, see `runs.py`; `confidence` is 0 where nothing is known."""

    actor: str
    actor_kind: Kind
    tool: str | None = None
    tool_asset: str | None = None
    tool_asset_name: str | None = None
    job_namespace: str | None = None
    job_name: str | None = None
    run: str = ""
    run_seed: str = ""
    confidence: float = 0.0


def recognise(known: Evidence, config: Config) -> Who:
    """Attribute this evidence. Never raises. Unrecognized evidence is unknown, and the actor then is the user or the application."""
    found = [answer for ask in _RECOGNISERS if (answer := ask(known, config))]
    told = users.configured_kind(known.user, config) if known.user and config.users else None
    account = known.user or known.application or UNKNOWN
    if not found:
        return Who(actor=account, actor_kind=told or UNKNOWN, confidence=1.0 if told else 0.0)
    best = max(found, key=lambda answer: answer.confidence)
    same = [answer for answer in found if answer.tool == best.tool]
    linked = [answer for answer in found if answer.job_name]
    # A parent that is named needs no guess.
    link = next((answer for answer in linked if answer.run == "parent"), None)
    link = link or (best if best.job_name else next(iter(linked), None))
    run = next((answer for answer in (link, best) if answer and answer.run), None)
    if link and run is best and link is not best:
        # The run of another job is not this one's.
        run = None
    return Who(
        actor=next((answer.actor for answer in same if answer.actor), None) or account,
        actor_kind=told if told and best.confidence < LOSSY else best.kind,
        tool=best.tool or None,
        tool_asset=next((answer.asset for answer in same if answer.asset), None),
        tool_asset_name=next((answer.asset_name for answer in same if answer.asset_name), None),
        job_namespace=link.job_namespace if link else None,
        job_name=link.job_name if link else None,
        run=run.run if run else "",
        run_seed=run.run_seed if run else "",
        confidence=1.0 if told and best.confidence < LOSSY else best.confidence,
    )
