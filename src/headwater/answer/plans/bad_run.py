"""A bad run, as a person names it: the instances, or the run, that its incident is about; and the incident that it has."""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headwater.answer.plans import impact
from headwater.answer.status import incidents
from headwater.answer.status.subjects import read_origin
from headwater.errors import InvalidQuestion, NotFound
from headwater.model import version
from headwater.store.database import Connection, Database
from headwater.store.lineage import runs
from headwater.store.status.wrong_versions import Origin


class CondemnedRun(NamedTuple):
    """A run that made something wrong: the `instances` of a DAG's run by entity, else the run itself (`origins`). `tasks`: of a DAG's run that makes
    entities, the tasks to clear and the runs to start.
    """

    instances: Mapping[str, list[str]]
    origins: Sequence[Origin]
    tasks: impact.ImpactAnswer | None


async def condemned_run(
    database: Database, *, run: str | None, dag: str | None, airflow: str | None, execution_date: dt.datetime | None
) -> CondemnedRun:
    """Return what is wrong of a run: of one with the id `run`, or of a DAG's by `execution_date`, or by `run`, its id there.

    A DAG that makes no declared entity is looked for among the recorded runs; `airflow` is then the namespace of its job.
    InvalidQuestion if they name no run, or runs of several namespaces; NotFound for an unknown DAG or run of it.
    """
    if dag is None:
        if run is None or airflow or execution_date:
            raise InvalidQuestion("Name a run by `run`, or a run of a DAG by `dag` with `execution_date` or `run`.")
        return CondemnedRun({}, [read_origin("RUN", run)], None)
    async with database.snapshot() as connection:
        if not await impact.declares_dag(connection, dag, airflow):
            return CondemnedRun({}, await _recorded(connection, dag, airflow, execution_date, run), None)
    asked = impact.AskedImpact(dag_id=dag, airflow=airflow, execution_date=execution_date, run_id=run, mode="wrong")
    tasks = await impact.of(database, asked)
    # What the run itself made, and no run because of it.
    made = [each for job in tasks.clear if job.dag_id == dag and len(job.because) <= 1 for each in job.makes]
    return CondemnedRun({each.entity: each.instances for each in made}, [], tasks)


async def _recorded(
    connection: Connection, dag: str, namespace: str | None, start: dt.datetime | None, run: str | None
) -> list[Origin]:
    """The runs of a DAG as its events name them: no entity is declared to be made by it."""
    if (start is None) == (run is None):
        raise InvalidQuestion("Name the DAG's run by `execution_date` or by `run`.", field="execution_date")
    found = await runs.of_dag(
        connection, dag, namespace=namespace, start=start, run=version.run_id(run)[0] if run is not None else None
    )
    if not found:
        latest = await runs.of_dag(connection, dag, namespace=namespace, limit=5)
        starts = [f"{each.nominal_start:%Y-%m-%dT%H:%M:%SZ}" for each in latest if each.nominal_start is not None]
        where = f" in {namespace}" if namespace is not None else ""
        raise NotFound(
            f"no entity is declared to be made by DAG {dag}, and no run of it{where} is recorded "
            + (f"whose interval begins at {start:%Y-%m-%dT%H:%M:%SZ}" if start is not None else f"with the id {run!r}")
            + (f"; the latest begin at {', '.join(starts)}" if starts else ""),
            known=starts,
        )
    if len(namespaces := sorted({each.namespace for each in found})) > 1:
        raise InvalidQuestion(
            f"DAG {dag} has such a run in {len(namespaces)} namespaces, {', '.join(namespaces)}: name one (airflow={namespaces[0]})",
            field="airflow",
            known=namespaces,
        )
    return [Origin("RUN", str(each.run_id)) for each in found]


async def incident_of(database: Database, found: CondemnedRun) -> uuid.UUID | None:
    """Return the incident that was opened about this and is not mended; None if there is none."""
    origins = [incidents.OriginView(one.kind, one.ref, list(one.columns)) for one in found.origins]
    known, _ = await incidents.unmended(database, 1000)
    return next((one.incident.id for one in known if (one.roots, one.origins) == (found.instances, origins)), None)
