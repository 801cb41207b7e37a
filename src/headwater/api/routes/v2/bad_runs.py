"""`/api/v2`: one bad run: what used it, the tasks to clear and the runs to start, the plan, and its incident."""

import datetime as dt
from typing import Annotated, Any

import msgspec
from litestar import Request, post
from litestar.datastructures import State
from litestar.params import JSONBody

from headwater.answer.plans import impact
from headwater.answer.status import incidents
from headwater.answer.status.wrong_versions import read_origin
from headwater.api.authors import As, author
from headwater.api.routes.v2.status.incidents import NewIncident, NewOrigin, OpenedIncident, open_new
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
    """`incident`: who is hit; its `id` is null after a dry run; null if no instance of the run exists. `plan`: the instances to rebuild, null if
    there are none, or more than an answer lists. `impact`: of a DAG's run, the tasks to clear and the runs to start.
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
    condemned, tasks = await _condemned(state, data)
    if not condemned.wrong and not condemned.origins:
        if data.dry_run:
            return BadRunRepair(None, None, tasks)
        raise InvalidQuestion(
            "No instance exists that this run made. Look with a dry run at what the run should have made."
        )
    known = None if data.dry_run else await _incident_of(state, condemned)
    if known is None and not data.dry_run and not data.reason:
        raise InvalidQuestion(
            "say why the run is wrong: --reason TEXT, or `reason` in the body; or look first with a dry run",
            field="reason",
        )
    condemned.dry_run = known is not None or data.dry_run
    opened = await open_new(state, condemned, by)
    plan = None
    if data.dry_run and opened.hits and not any(one.more for one in opened.hits):
        # Only these: recorded reads spare instances that declared needs alone would add.
        wrong = [verdicts.Wrong(one.entity, one.instances) for one in opened.hits]
        plan = await planning.plan(state.database, planning.PlanRequest(wrong=wrong, only=True, dry_run=True), by)
    return BadRunRepair(msgspec.structs.replace(opened, id=known) if known else opened, plan, tasks)


async def _condemned(state: State, data: BadRun) -> tuple[NewIncident, impact.ImpactAnswer | None]:
    """The incident that is about the run; of a DAG's, about the instances that it made, which its impact names."""
    if data.dag is None:
        if data.run is None or data.airflow or data.execution_date:
            raise InvalidQuestion("Name a run by `run`, or a run of a DAG by `dag` with `execution_date` or `run`.")
        return NewIncident(data.reason, origins=[NewOrigin("RUN", data.run)]), None
    asked = impact.AskedImpact(
        dag_id=data.dag,
        airflow=data.airflow,
        execution_date=aware(data.execution_date),
        run_id=data.run,
        mode="tainted",
    )
    tasks = await impact.of(state.database, asked)
    made = [
        verdicts.WrongColumns(each.entity, each.instances)
        for job in tasks.clear
        if job.dag_id == data.dag and len(job.because) <= 1
        for each in job.makes
    ]
    return NewIncident(data.reason, made), tasks


async def _incident_of(state: State, condemned: NewIncident) -> Any:
    """The id of the run's incident, if it has one that is not mended."""
    roots = {one.entity: one.instances for one in condemned.wrong}
    origins = [
        incidents.OriginView(one.kind, one.ref, list(one.columns))
        for one in (read_origin(each.kind, each.ref) for each in condemned.origins)
    ]
    known = await incidents.unmended(state.database, 1000)
    return next((one.incident.id for one in known if (one.roots, one.origins) == (roots, origins)), None)


handlers = (repair_bad_run,)
