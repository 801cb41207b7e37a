"""A query that names its parent run itself, as OpenLineage writes it: `namespace/job/run id`.

The form of OPENLINEAGE_PARENT_ID and of the Airflow provider's macro `lineage_parent_id`, under one of these names, in a comment or a tag.
It is the one link that needs no guess, so it beats what every other tool says of the job and the run; who asked stays theirs to say.
"""

import re

from headwater.pipeline.query_log.who.config import Config
from headwater.pipeline.query_log.who.evidence import TOLD, Attribution, Evidence, first

TOOL = "openlineage"
MARKS = ("openlineage", "lineage_parent_id")
KEYS = (
    "openlineage_parent_id",
    "openlineage.parent_id",
    "openlineage-parent-id",
    "openlineage_parent",
    "lineage_parent_id",
)

# The run id may have been taken out as something that differs from run to run.
_PARENT = re.compile(r"(.{1,400})/([^/]{1,400})/(?:[0-9a-fA-F-]{36}|0)")


def recognise(evidence: Evidence, config: Config) -> Attribution | None:
    for attached in evidence.attached:
        values = {key.lower(): value for key, value in attached.values.items()}
        raw = next((str(values[key]) for key in KEYS if isinstance(values.get(key), str)), None)
        if raw and (parts := _PARENT.fullmatch(raw[:900].strip())):
            namespace, job = parts[1], parts[2]
            name = first(values, "application", "app")
            return Attribution(
                tool=name or TOOL,
                kind="pipeline",
                confidence=TOLD,
                job_namespace=namespace,
                job_name=job,
                run="parent",
            )
    return None
