"""Jobs that are one statement of another job: dbt and Airflow send a job for each statement of a model or a task.

They are named after the job above them: `model.shop.orders.sql.3`, `dag.task.query.1`.
"""

import re

# As PostgreSQL reads it too.
PATTERN = r"\.(sql|query|manual_query)\.[0-9]+$"
_NAME = re.compile(PATTERN)
_KINDS = frozenset({"kind:SQL", "kind:QUERY"})


def is_statement(name: str, traits: list[str]) -> bool:
    """Return whether a job is a statement of another, by its name and the traits of its `jobType` facet."""
    return not _KINDS.isdisjoint(traits) and _NAME.search(name) is not None


def is_named_after(job: str, above: str) -> bool:
    """Return whether the id of a job is that of the job above it and the end that a statement has."""
    return job.startswith(above) and _NAME.fullmatch(job, len(above)) is not None
