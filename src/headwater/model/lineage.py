"""The values of lineage: transformations, edges and column edges, with their origin."""

import datetime as dt
import enum
import uuid

import msgspec

from headwater.model.names import DatasetName, JobName


class Origin(enum.IntEnum):
    """The origin of column lineage, in order of precedence: for each target the lowest value present wins (OpenLineage §1.5)."""

    EXPLICIT = 1
    COLUMN_LINEAGE = 2
    PARSED_SQL = 3
    MANUAL = 4


UNSEEN_INSIDE = "all columns that the function is given: its inside is not seen"
"""The description of what a program makes whose inside is not seen: any of the columns that it is given may feed its value, and none need."""


class Transformation(msgspec.Struct, frozen=True, order=True):
    """OpenLineage's transformation: type DIRECT or INDIRECT, subtype, whether the value is masked, and a description."""

    type: str
    subtype: str
    masking: bool
    description: str | None


class ColumnInput(msgspec.Struct, frozen=True):
    """An input of a column: a dataset's field, a whole dataset (field ""), or a job."""

    source: DatasetName | JobName
    field: str
    transformations: tuple[Transformation, ...]


class Edge(msgspec.Struct, frozen=True):
    """A job reads (`in`) or writes (`out`) a dataset. Ids are those of `model.version`; a dataset's is that of its canonical name.

    `explicit`: the job reports explicit lineage. `manual`: a person drew the edge. `intermittent`: some of the job's latest complete runs
    reported the edge, and others did not (docs/decisions/042). `parsed`: it was read from SQL, and no dataset is reported (052).
    """

    dataset: uuid.UUID
    job: uuid.UUID
    direction: str
    declared: bool
    first_seen: dt.datetime
    last_seen: dt.datetime
    explicit: bool = False
    manual: bool = False
    intermittent: bool = False
    parsed: bool = False

    @property
    def source(self) -> uuid.UUID:
        return self.dataset if self.direction == "in" else self.job

    @property
    def target(self) -> uuid.UUID:
        return self.job if self.direction == "in" else self.dataset


class ColumnEdge(msgspec.Struct, frozen=True):
    """A field feeds a field, through a job. An empty field is the whole dataset; the target may be the job itself."""

    job: uuid.UUID
    target: uuid.UUID
    target_field: str
    source: uuid.UUID
    source_field: str
    origin: Origin
    transformation: Transformation | None
