"""Who ran a run, where its facets tell. The one place that knows which facets do; docs/reference/api-v2.md lists them."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

# Facets that name a user, the surest first, and where in them.
FACETS = (
    "environment-properties",
    "spark_applicationDetails",
    "spark_properties",
    "airflow",
    "airflowDagRun",
    "headwater_queries",
)
_SPARK = ("user.name", "spark.user", "spark.proxy.user", "spark.kerberos.principal", "spark.yarn.principal")
# Every key below has one of these in it.
_WORDS = (b"user", b"owner", b"principal", b"actor")
# What Airflow calls the owner of a DAG that has none.
_NOBODY = frozenset({"airflow", "root", "unknown", "none", ""})


def user_of(run_facets: Mapping[str, bytes | msgspec.Raw]) -> str | None:
    """The user of a run by its facets; None when none tells. Facets of another shape than they should have tell nothing."""
    for name in FACETS:
        if name in run_facets:
            body = bytes(run_facets[name])
            # Spark's properties come with every event and rarely name anybody.
            if not any(word in body for word in _WORDS):
                continue
            for told in _told(name, _plain(body)):
                if isinstance(told, str) and told.strip().lower() not in _NOBODY:
                    return told.strip().replace("\0", "�")[:300]
    return None


def _told(name: str, body: dict[str, Any]) -> Iterator[Any]:
    if name == "environment-properties":  # Databricks
        inner = body.get("environment-properties")
        for values in (inner if isinstance(inner, dict) else {}, body):
            yield from (values.get(key) for key in ("user", "userName", "userId"))
    elif name == "headwater_queries":  # an execution of a query log
        yield from (body.get(key) for key in ("actor", "user"))
    elif name == "spark_applicationDetails":
        yield body.get("userName")
    elif name == "spark_properties":
        properties = body.get("properties")
        yield from (properties.get(key) for key in _SPARK if isinstance(properties, dict))
    else:
        run, dag = body.get("dagRun"), body.get("dag")
        yield run.get("triggering_user_name") if isinstance(run, dict) else None
        yield dag.get("owner") if isinstance(dag, dict) else None


def _plain(body: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
