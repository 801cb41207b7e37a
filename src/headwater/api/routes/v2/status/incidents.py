"""`/api/v2`: incidents: what is wrong, what used it, and how it ends."""

import datetime as dt
import uuid
from typing import Annotated, Any, Literal

import msgspec
from litestar import Request, get, post
from litestar.datastructures import State
from litestar.params import JSONBody, PathParameter, QueryParameter

from headwater.answer import overview
from headwater.answer.status import incident_detail, incidents, open_incidents
from headwater.answer.status.known_wrong import load_wrong_versions
from headwater.answer.status.subjects import Subject, check_columns, read_subjects
from headwater.answer.status.wrong_by_reads import WrongByReads
from headwater.answer.status.wrong_versions import Search
from headwater.api.authors import As, author
from headwater.api.routes.v2.parameters import Limit, Offset, id_of
from headwater.intake.status import incidents as verdicts
from headwater.intake.status import verdicts as fine_verdicts
from headwater.model.moments import aware

Incident = Annotated[str, PathParameter(description="The incident's id.")]


class NewOrigin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`ref`: of a RUN its id; of a VERSION its id (`version_id` in the answers about runs and datasets); of a CONTENT its fingerprint; of a DATASET,
    all that it holds now, its id (`dataset:NAMESPACE:NAME`).

    `columns`: of a run, version or dataset, only these are wrong.
    """

    kind: Literal["RUN", "VERSION", "CONTENT", "DATASET"]
    ref: Annotated[str, msgspec.Meta(min_length=1, max_length=5000)]
    columns: Annotated[list[str], msgspec.Meta(max_length=1000)] = []


class NewIncident(msgspec.Struct, forbid_unknown_fields=True):
    """A new incident: what is wrong, and the `reason`.

    `wrong`: instances; with `columns` only these columns are, and what uses other columns is not wrong.
    `origins`: runs, versions and contents.
    """

    reason: str
    wrong: list[verdicts.WrongColumns] = []
    origins: Annotated[list[NewOrigin], msgspec.Meta(max_length=1000)] = []
    dry_run: bool = False


class OpenedIncident(msgspec.Struct, frozen=True):
    """The fields of `Opened`; `reads`: what is wrong by recorded reads, null if there are no origins and no recorded version is."""

    id: uuid.UUID | None
    seq: int
    count: int
    stretches: int
    hits: list[verdicts.Hit]
    missing: list[verdicts.Wrong]
    reads: WrongByReads | None


class FineSubject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`ref`: the id of a RUN (all that it wrote), of a VERSION, or of a DATASET (all that it holds now)."""

    kind: Literal["RUN", "VERSION", "DATASET"]
    ref: Annotated[str, msgspec.Meta(min_length=1, max_length=5000)]


class FineVerdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The verdict that something a check doubts is right as it is."""

    fine: Annotated[list[FineSubject], msgspec.Meta(min_length=1, max_length=1000)]
    note: str = ""


class Fix(msgspec.Struct, forbid_unknown_fields=True):
    """`at`: what was produced from then on is right. Default: from now on."""

    at: dt.datetime | None = None
    note: str = ""


class Note(msgspec.Struct, forbid_unknown_fields=True):
    note: str = ""


class Confirmation(msgspec.Struct, forbid_unknown_fields=True):
    """Instances that are right as they are."""

    right: list[verdicts.Wrong]
    note: str = ""


@get("/incidents")
async def list_incidents(
    state: State,
    in_state: Annotated[str | None, QueryParameter(name="state", description="open, fixed or retracted.")] = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> incidents.IncidentList:
    """List incidents, the latest first."""
    return await incidents.incidents(state.database, state=in_state, limit=limit, offset=offset)


@get("/open-incidents")
async def list_open_incidents(
    state: State,
    kind: Annotated[
        str | None, QueryParameter(max_length=40, description="wrong, policy, failed, doubted, late or stalled.")
    ] = None,
    owner: Annotated[
        str | None,
        QueryParameter(
            max_length=300, description="Only those whose cause, or something that is hit, this person owns."
        ),
    ] = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> open_incidents.OpenIncidents:
    """List everything that needs a person now: what is wrong, doubted, fails, is late or fell silent, each under its cause."""
    return await open_incidents.open_incidents(state.database, kind=kind, owner=owner, limit=limit, offset=offset)


@get("/open-incident")
async def get_open_incident(
    state: State,
    id_: Annotated[
        str,
        QueryParameter(
            name="id",
            max_length=5000,
            description="An id of `/api/v2/open-incidents`, such as `job:ns:load` or a UUID.",
        ),
    ],
) -> incident_detail.IncidentDetail:
    """Return one open incident with the way from its cause to each object that it hits, and its timeline."""
    return await incident_detail.incident_detail(state.database, id_)


@get("/overview")
async def get_overview(
    state: State,
    limit: Annotated[int, QueryParameter(ge=0, le=100, description="List at most this many of each.")] = 10,
) -> overview.Overview:
    """Return how everything is: incidents by kind, who fell silent, events with warnings, coverage."""
    return await overview.overview(state.database, limit)


@post("/incidents", status_code=200)
async def open_incident(
    request: Request[Any, Any, Any], state: State, data: JSONBody[NewIncident], said_by: As = None
) -> OpenedIncident:
    """Open an incident: instances, runs, versions or contents are wrong, and everything that used them."""
    return describe_opened(*await open_new(state, data, author(request, said_by)))


async def open_new(state: State, new: NewIncident, by: str) -> tuple[verdicts.Opened, WrongByReads | None]:
    """Open an incident, or look at what it would be; and what is wrong by recorded reads."""
    asked = await read_subjects(state.database, [Subject(one.kind, one.ref, tuple(one.columns)) for one in new.origins])
    await check_columns(state.database, {one.entity: one.columns for one in new.wrong if one.columns})
    wrong = new.wrong + [verdicts.WrongColumns(one.entity, one.instances, list(one.columns)) for one in asked.instances]
    search = Search(by_schedule=True, elsewhere=load_wrong_versions)
    opened = await verdicts.open_(
        state.database, wrong, new.reason, by, origins=asked.origins, search=search, dry_run=new.dry_run
    )
    return opened, search.described


def describe_opened(opened: verdicts.Opened, reads: WrongByReads | None) -> OpenedIncident:
    """Return an opened incident as it is sent."""
    return OpenedIncident(opened.id, opened.seq, opened.count, opened.stretches, opened.hits, opened.missing, reads)


@post("/verdicts", status_code=200)
async def call_fine(
    request: Request[Any, Any, Any], state: State, data: JSONBody[FineVerdict], said_by: As = None
) -> fine_verdicts.FineVersions:
    """Record that versions which a check doubts are right as they are. For wrong ones, open an incident."""
    asked = await read_subjects(state.database, [Subject(one.kind, one.ref) for one in data.fine])
    return await fine_verdicts.call_fine(state.database, asked.origins, author(request, said_by), data.note)


@get("/incidents/{incident:str}")
async def get_incident(state: State, incident: Incident) -> incidents.OneIncident:
    """Return one incident, and what is wrong because of it."""
    return await incidents.incident(state.database, id_of(incident, "incident"))


@post("/incidents/{incident:str}/fix", status_code=200)
async def fix_incident(
    request: Request[Any, Any, Any], state: State, incident: Incident, data: JSONBody[Fix], said_by: As = None
) -> verdicts.Settled:
    """Mark an incident's cause as fixed: what is produced from now on is right."""
    by = author(request, said_by)
    return await verdicts.fix(state.database, id_of(incident, "incident"), by, at=aware(data.at), note=data.note)


@post("/incidents/{incident:str}/retract", status_code=200)
async def retract_incident(
    request: Request[Any, Any, Any], state: State, incident: Incident, data: JSONBody[Note], said_by: As = None
) -> verdicts.Settled:
    """Retract an incident that was a false alarm."""
    return await verdicts.retract(state.database, id_of(incident, "incident"), author(request, said_by), note=data.note)


@post("/incidents/{incident:str}/confirm", status_code=200)
async def confirm_instances(
    request: Request[Any, Any, Any], state: State, incident: Incident, data: JSONBody[Confirmation], said_by: As = None
) -> verdicts.Settled:
    """Mark instances as right after a check."""
    by = author(request, said_by)
    return await verdicts.confirm(state.database, id_of(incident, "incident"), data.right, by, note=data.note)


handlers = (
    list_open_incidents,
    get_open_incident,
    get_overview,
    list_incidents,
    open_incident,
    call_fine,
    get_incident,
    fix_incident,
    retract_incident,
    confirm_instances,
)
