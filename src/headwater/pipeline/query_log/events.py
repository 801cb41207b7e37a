"""Rows of the query log's tables as OpenLineage events. Pure: the same row is the same event, byte for byte, whenever it is sent.

A job is a query shape in its warehouse's namespace; a run is one execution. Measures (usage, cost, recurrence, pruning, counts) are
facets of datasets and jobs, in events without a run at the time `at` of the state they are from. docs/reference/facets.md has the facets.

Rows are mappings as JSON has them: times are ISO 8601 texts, what is null is absent.
"""

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from headwater.client import event
from headwater.model.measured import CHANGES, COST, PRUNING, QUALITY, QUERIES, RECURRENCE, USAGE

Row = Mapping[str, Any]
Event = dict[str, Any]

# The job that stands for a warehouse's log as a whole: its quality, and the costs of its users and tools.
LOG_JOB: Final = "query-log"
# The namespace of what could not be read at all, and so is of no warehouse.
NO_WAREHOUSE: Final = "headwater"
# A longer text is cut: it is unreadable, and its columns are sent separately.
LONGEST_SQL: Final = 65_536
_CUT: Final = " /* cut here */"
_RUNS: Final = uuid.UUID("0d6b9f0e-9d5c-5b1c-8a52-51756572794c")
_ENDED: Final = {"succeeded": "COMPLETE", "failed": "FAIL", "cancelled": "ABORT"}
_FACETS: Final = {
    "columnLineage": "ColumnLineageDatasetFacet",
    "lifecycleStateChange": "LifecycleStateChangeDatasetFacet",
}
# The columns of an execution that its run facet has.
_EXECUTION: Final = (
    "duration_ms", "queued_ms", "rows_read", "rows_written", "bytes_read", "bytes_billed", "bytes_written", "slot_ms", "cpu_ms", "credits",
    "money", "cache_hit", "level", "actor", "actor_kind", "user",
)  # fmt: skip
_TAGS: Final = {
    "tool": "tool", "asset": "tool_asset", "warehouse": "warehouse", "role": "role", "application": "application", "database": "database",
    "schema": "schema",
}  # fmt: skip


def run_id(namespace: str, query_id: str) -> str:
    """The run that an execution is: derived from the warehouse's namespace and the id it gives its query."""
    return str(uuid.uuid5(_RUNS, f"{len(namespace)}:{namespace}{query_id}"))


def parent_run_id(namespace: str, name: str, told: str | None) -> str:
    """The run of a task or model that ran a query; where no log names it, one that stands for all its runs."""
    return told or str(uuid.uuid5(_RUNS, f"any run of {len(namespace)}:{namespace}{name}"))


def execution(row: Row) -> list[Event]:
    """START and the end of one execution: a row of EXECUTIONS with the name of its `job`, the masked text as `sql`, and of its statement `level`,
    `reads`, `writes`, `outputs`, `temporary`.

    One that did not succeed read and wrote nothing that counts: its datasets are left out.
    """
    run, job = run_id(row["namespace"], row["query_id"]), (row["namespace"], row["job"])
    began = row["started_at"]
    ended = row.get("ended_at") or began
    done = row["state"] == "succeeded"
    end = event.run(
        _ENDED.get(row["state"], "OTHER"),
        run_id=run,
        job=job,
        inputs=[event.dataset(*_name(one)) for one in row.get("reads", ())] if done else (),
        outputs=_outputs(row) if done else (),
        run_facets=_run_facets(row),
        job_facets=_job_facets(row),
        event_time=ended,
    )
    return [event.run("START", run_id=run, job=job, event_time=began), end]


def _run_facets(row: Row) -> dict[str, event.Facet]:
    told = {key: row[key] for key in _EXECUTION if key in row}
    found = {
        "externalQuery": event.facet("ExternalQueryRunFacet/1-0-2", externalQueryId=row["query_id"], source=row["namespace"]),
        QUERIES: event.facet(
            QUERIES, **_camel(told | {"executions": 1, "failures": int(row["state"] != "succeeded"), "last_query_id": row["query_id"]})
        ),
    }  # fmt: skip
    if tags := [(key, str(row[column])) for key, column in _TAGS.items() if row.get(column)]:
        found["tags"] = event.tags(tags, "QUERY_LOG", of="Run")
    if row.get("job_name"):
        namespace = row.get("job_namespace") or row["namespace"]
        task = (namespace, row["job_name"])
        found["parent"] = event.parent(parent_run_id(*task, row.get("job_run_id")), task)
    if row.get("error"):
        found["errorMessage"] = event.error_message(row["error"], language="sql")
    return found


def _job_facets(row: Row) -> dict[str, event.Facet]:
    found = {"jobType": event.job_type("BATCH", row["source"].upper(), "QUERY")}
    if text := row.get("sql"):
        cut = text if len(text) <= LONGEST_SQL else text[:LONGEST_SQL] + _CUT
        found["sql"] = event.facet("SQLJobFacet", query=cut, dialect=row["dialect"])
    return found


def _outputs(row: Row) -> list[Event]:
    """Tables written, with their column lineage; else the dashboard or question of a BI tool that the rows were for."""
    told = {_name(one): one.get("facets", {}) for one in json.loads(row.get("outputs") or "[]")}
    writes = [] if row.get("temporary") else list(dict.fromkeys(map(_name, row.get("writes", ()))))
    single = _statistics(row) if len(writes) == 1 else None
    found = [
        event.dataset(
            *name,
            facets={
                key: event.facet(_FACETS[key], **body) for key, body in sorted(told.get(name, {}).items()) if key in _FACETS
            },
            output_facets=single,
        )
        for name in writes
    ]  # fmt: skip
    asset = row.get("tool_asset")
    if not found and asset and row.get("tool") and row.get("actor_kind") == "bi":
        facets = {"datasetType": event.facet("DatasetTypeDatasetFacet/1-0-0", datasetType=_asset_kind(asset))}
        if row.get("tool_asset_name"):
            facets["documentation"] = event.documentation(row["tool_asset_name"])
        found.append(event.dataset(row["tool"], asset, facets=facets))
    return found


def _asset_kind(asset: str) -> str:
    """`dashboard/12/card/7` is a CARD."""
    steps = asset.split("/")
    return steps[-2].upper() if len(steps) > 1 else "ASSET"


def _statistics(row: Row) -> dict[str, event.Facet] | None:
    rows, size = row.get("rows_written"), row.get("bytes_written")
    if rows is None and size is None:
        return None
    return {"outputStatistics": event.output_statistics(rows=rows, size=size)}


def dataset(namespace: str, name: str, row: Row, gone: Iterable[str], at: str) -> list[Event]:
    """Return the events of a dataset's measures: `usage`, `cost`, `pruning` (rows of those tables), its `changes`, and facets that hold no more."""
    facets = {
        facet: _facet(facet, row[key])
        for key, facet in ((USAGE_, USAGE), (COST_, COST), (PRUNING_, PRUNING), (CHANGES_, CHANGES))
        if key in row
    }
    return [event.dataset_event(namespace, name, facets=facets | _gone(gone), event_time=at)] if facets or gone else []


def shape(namespace: str, name: str, row: Row, gone: Iterable[str], at: str) -> list[Event]:
    """Return the events of a job's measures: `queries`, `cost`, `recurrence`; with `sql`, `dialect` and `source` if no run will ever
    report them."""
    told = ((QUERIES_, QUERIES), (COST_, COST), (RECURRENCE_, RECURRENCE))
    facets = {facet: _facet(facet, row[key]) for key, facet in told if key in row}
    if "source" in row:
        facets |= _job_facets(row)
    return [event.job((namespace, name), job_facets=facets | _gone(gone), event_time=at)] if facets or gone else []


def log(namespace: str, name: str, row: Row, gone: Iterable[str], at: str) -> list[Event]:
    """Return the events of the costs of a warehouse's users and tools: `cost` with `drivers` and `hidden_drivers`. `name` is LOG_JOB."""
    facets = {COST: _facet(COST, {"grain": "log", **row[COST_]})} if COST_ in row else {}
    return [event.job((namespace, name), job_facets=facets | _gone(gone), event_time=at)] if facets or gone else []


def quality(namespace: str, name: str, row: Row, gone: Iterable[str], at: str) -> list[Event]:
    """Return the events of how well a day's statements were understood: `days`, rows of QUALITY. A day is sent again, never deleted, so
    `name` means nothing here."""
    if not row.get("days"):
        return []
    # Always an object: a list is no mapping to the server, also if it is empty.
    days = [one | {_BY_CODE: {code["code"]: code["rows"] for code in one.get(_BY_CODE, ())}} for one in row["days"]]
    facet = {QUALITY: _facet(QUALITY, {"days": days})}
    return [event.job((namespace or NO_WAREHOUSE, LOG_JOB), job_facets=facet, event_time=at)]


# Rows by code: keys that are no words of ours.
_BY_CODE: Final = "quarantined_by"
# The name of each facet in a row.
USAGE_, COST_, PRUNING_, QUERIES_, RECURRENCE_, CHANGES_ = (
    "usage",
    "cost",
    "pruning",
    "queries",
    "recurrence",
    "changes",
)
# Facets by what stands for them.
FACET_OF: Final = {
    USAGE_: USAGE, COST_: COST, PRUNING_: PRUNING, QUERIES_: QUERIES, RECURRENCE_: RECURRENCE, CHANGES_: CHANGES,
}  # fmt: skip
_MEASURED: Final[Mapping[str, Callable[[str, str, Row, Sequence[str], str], list[Event]]]] = {
    "dataset": dataset, "shape": shape, "job": shape, "log": log, "quality": quality,
}  # fmt: skip


def events(kind: str, namespace: str, name: str, row: Row, gone: Sequence[str], at: str) -> list[Event]:
    """The events of a row of any kind: `run`, or one that was measured (`dataset`, `shape`, `job`, `log`, `quality`).

    `gone`: facets that were published and hold no more. `at`: the time of the state, ISO 8601; runs have their own.
    """
    return execution(row) if kind == "run" else _MEASURED[kind](namespace, name, row, gone, at)


def _gone(facets: Iterable[str]) -> dict[str, event.Facet]:
    return {name: event.facet(name, _deleted=True) for name in sorted(facets)}


def _facet(name: str, row: Row) -> event.Facet:
    return event.facet(name, **_camel(row))


def _camel(value: Any) -> Any:
    """Keys as facets have them: `last_read_at` is `lastReadAt`. Whole milliseconds are whole numbers, as those of other producers."""
    if isinstance(value, Mapping):
        told = ((key, one) for key, one in value.items() if one is not None)
        return {
            _key(key): one if key == _BY_CODE else _whole(one) if key.endswith("_ms") else _camel(one)
            for key, one in told
        }
    return [_camel(one) for one in value] if isinstance(value, list) else value


def _whole(milliseconds: float) -> float:
    return int(milliseconds) if milliseconds == int(milliseconds) else milliseconds


def _key(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _name(one: Row) -> tuple[str, str]:
    return one["namespace"], one["name"]
