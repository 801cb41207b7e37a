"""A bad run, as a person names it: the instances, or the run, that its incident is about; and the incident that it has."""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headwater.answer.plans import impact
from headwater.answer.status import incidents
from headwater.answer.status.wrong_versions import read_origin
from headwater.errors import InvalidQuestion
from headwater.store.database import Database
from headwater.store.status.wrong_versions import Origin


class CondemnedRun(NamedTuple):
    """A run that made something wrong: the `instances` of a DAG's run by entity, else the run itself (`origins`). `tasks`: of a DAG's run, the tasks
    to clear and the runs to start.
    """

    instances: Mapping[str, list[str]]
    origins: Sequence[Origin]
    tasks: impact.ImpactAnswer | None


async def condemned_run(
    database: Database, *, run: str | None, dag: str | None, airflow: str | None, execution_date: dt.datetime | None
) -> CondemnedRun:
    """Return what is wrong of a run: of one with the id `run`, or of a DAG's by `execution_date`, or by `run`, its id there.

    InvalidQuestion if they name no run; NotFound for an unknown DAG or run of it.
    """
    if dag is None:
        if run is None or airflow or execution_date:
            raise InvalidQuestion("Name a run by `run`, or a run of a DAG by `dag` with `execution_date` or `run`.")
        return CondemnedRun({}, [read_origin("RUN", run)], None)
    asked = impact.AskedImpact(dag_id=dag, airflow=airflow, execution_date=execution_date, run_id=run, mode="wrong")
    tasks = await impact.of(database, asked)
    # What the run itself made, and no run because of it.
    made = [each for job in tasks.clear if job.dag_id == dag and len(job.because) <= 1 for each in job.makes]
    return CondemnedRun({each.entity: each.instances for each in made}, [], tasks)


async def incident_of(database: Database, found: CondemnedRun) -> uuid.UUID | None:
    """Return the incident that was opened about this and is not mended; None if there is none."""
    origins = [incidents.OriginView(one.kind, one.ref, list(one.columns)) for one in found.origins]
    known, _ = await incidents.unmended(database, 1000)
    return next((one.incident.id for one in known if (one.roots, one.origins) == (found.instances, origins)), None)
