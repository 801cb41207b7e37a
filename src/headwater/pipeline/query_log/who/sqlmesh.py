"""SQLMesh: that a plan ran the statement. `/* SQLMESH_PLAN: <plan id> */` before it (CorrelationId in SQLMesh); the model is not named."""

from headwater.pipeline.query_log.who.config import Config
from headwater.pipeline.query_log.who.evidence import TOLD, Application, Attribution, Evidence, connected_as

TOOL = "sqlmesh"
MARKS = ("sqlmesh_",)
APPLICATIONS = (Application(r"sqlmesh", TOOL, "pipeline"),)


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    for attached in evidence.attached:
        if attached.where == "comment" and attached.text.lstrip().startswith("SQLMESH_"):
            return Attribution(tool=TOOL, kind="pipeline", confidence=TOLD)
    return connected_as(evidence, APPLICATIONS)
