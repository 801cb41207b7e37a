"""Find the user of a run in its facets. The only place that knows which facets name a user; docs/reference/api-v2.md lists them."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

# Facets that name a user, the most reliable first.
FACETS = (
    "environment-properties",
    "spark_applicationDetails",
    "spark_properties",
    "airflow",
    "airflowDagRun",
    "headwater_queries",
)
_SPARK = ("user.name", "spark.user", "spark.proxy.user", "spark.kerberos.principal", "spark.yarn.principal")
# Each key that `_candidates` reads contains one of these.
_WORDS = (b"user", b"owner", b"principal", b"actor")
# Placeholders that name no user; `airflow` is the owner of a DAG without one.
_PLACEHOLDERS = frozenset({"airflow", "root", "unknown", "none", ""})


def user_of(run_facets: Mapping[str, bytes | msgspec.Raw]) -> str | None:
    """The user that a run's facets name, or None. Malformed facets are ignored."""
    for name in FACETS:
        if name in run_facets:
            body = bytes(run_facets[name])
            # Spark's properties come with every event and rarely name a user: search the bytes before decoding them.
            if not any(word in body for word in _WORDS):
                continue
            for user in _candidates(name, _plain(body)):
                if isinstance(user, str) and user.strip().lower() not in _PLACEHOLDERS:
                    return user.strip().replace("\0", "�")[:300]
    return None


def _candidates(name: str, body: dict[str, Any]) -> Iterator[Any]:
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
