"""The spellings of jobs in `produced_by`, and the jobs that such a text may mean."""

from collections.abc import Iterator

from headwater.model.names import JobName

AIRFLOW = "airflow://"


def spellings(job: JobName) -> Iterator[str]:
    """Yield the spellings of a job in `produced_by`: `namespace/name`; for Airflow's job `dag.task` also `airflow://namespace/dag/task`."""
    yield f"{job.namespace}/{job.name}"
    space = job.namespace if job.namespace.startswith(AIRFLOW) else AIRFLOW + job.namespace
    yield f"{space}/{job.name}"
    for place, letter in enumerate(job.name):
        if letter == ".":
            yield f"{space}/{job.name[:place]}/{job.name[place + 1 :]}"


def readings(text: str) -> Iterator[JobName]:
    """The jobs that a text of `produced_by` may mean: a namespace may contain `/`, and so may a name."""
    bare = text.removeprefix(AIRFLOW)
    for place, letter in enumerate(text):
        if letter == "/" and 0 < place < len(text) - 1:
            yield JobName(text[:place], text[place + 1 :])
    if bare != text:
        parts = bare.split("/")
        for cut in range(1, len(parts)):
            namespace, rest = "/".join(parts[:cut]), parts[cut:]
            for name in ("/".join(rest), ".".join(rest)):
                yield JobName(namespace, name)
                yield JobName(AIRFLOW + namespace, name)
