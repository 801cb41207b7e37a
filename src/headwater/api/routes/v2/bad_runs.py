"""`/api/v2`: one bad run: what used it, the tasks to clear and the runs to start, the plan, and its incident."""

import datetime as dt
from typing import Annotated, Any

import msgspec
from litestar import Request, post
from litestar.datastructures import State
from litestar.params import JSONBody

from headwater.answer.plans import bad_run, impact
from headwater.api.authors import As, author
from headwater.api.routes.v2.status.incidents import NewIncident, NewOrigin, OpenedIncident, describe_opened, open_new
from headwater.errors import InvalidQuestion
from headwater.intake.plans import plans as planning
from headwater.intake.status import incidents as verdicts
from headwater.model.moments import aware


class BadRun(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A run that made something wrong: `run`, its id; or a run of the DAG `dag`, by `execution_date` or by `run`, its id there.

    `airflow`: the Airflow of the DAG, needed if several have one of that id. Without `dry_run` the run's incident is opened, for this `reason`; or
    the one that it has is returned.
    """

    run: str | None = None
    dag: str | None = None
    airflow: str | None = None
    execution_date: dt.datetime | None = None
    reason: Annotated[str, msgspec.Meta(max_length=10_000)] = ""
    dry_run: bool = True


class BadRunRepair(msgspec.Struct, frozen=True):
    """`incident`: who is hit; its `id` is null after a dry run; null if no instance of the run exists. `plan`: of a dry run, the instances
    to rebuild, null if there are none. `impact`: of a DAG's run, the tasks to clear and the runs to start.
    """

    incident: OpenedIncident | None
    plan: planning.Planned | None
    impact: impact.ImpactAnswer | None


@post("/repair", status_code=200)
async def repair_bad_run(
    request: Request[Any, Any, Any], state: State, data: JSONBody[BadRun], said_by: As = None
) -> BadRunRepair:
    """Return all that a bad run takes to repair, or open its incident."""
    by = author(request, said_by)
    found = await bad_run.condemned_run(
        state.database, run=data.run, dag=data.dag, airflow=data.airflow, execution_date=aware(data.execution_date)
    )
    if not found.instances and not found.origins:
        if data.dry_run:
            return BadRunRepair(None, None, found.tasks)
        raise InvalidQuestion(
            "No instance exists that this run made. Look with a dry run at what the run should have made."
        )
    known = None if data.dry_run else await bad_run.incident_of(state.database, found)
    if known is None and not data.dry_run and not data.reason:
        raise InvalidQuestion(
            "say why the run is wrong: --reason TEXT, or `reason` in the body; or look first with a dry run",
            field="reason",
        )
    new = NewIncident(
        data.reason,
        [verdicts.WrongColumns(entity, instances) for entity, instances in found.instances.items()],
        [NewOrigin(one.kind, one.ref) for one in found.origins],
        known is not None or data.dry_run,
    )
    opened, reads = await open_new(state, new, by)
    plan = await planning.plan_wrong(state.database, opened.wrong, by) if data.dry_run else None
    hit = describe_opened(opened, reads)
    return BadRunRepair(msgspec.structs.replace(hit, id=known) if known else hit, plan, found.tasks)


handlers = (repair_bad_run,)
