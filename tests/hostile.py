"""Hostile values, and complete events to put them into."""

import copy
from typing import Any

from hypothesis import strategies as st

from tests.events import RUN, columns, dataset, facet, parent, run_event, schema

FAR_TIMES = [
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "2026-01-01T00:00:00",
    "24:00",
    "2026-02-30T00:00:00Z",
]

TEXTS = [
    "",
    " ",
    "\0",
    "a\0b",
    "x" * 70_000,
    # Long, and not to be packed: an index takes 2,704 bytes of a text, after packing.
    "".join(chr(0x4E00 + (i * 7919) % 20_000) for i in range(3000)),
    "é\U0001f600\u202e\ufeff\uffff",
    "'; drop table events; --",
    "%s %(x)s {0} ${y}",
    "../../etc/passwd",
    "\r\nX-Injected: 1",
    "_deleted",
    *FAR_TIMES,
    RUN.format(1),
    "file",
    "/in",
]
NUMBERS = [0, -1, 1, 2**31, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**40, 1.5, 1e308, -0.0]


def deep(levels: int) -> Any:
    made: Any = 1
    for level in range(levels):
        made = [made] if level % 2 else {"a": made}
    return made


VALUES: list[Any] = [
    None,
    True,
    False,
    [],
    {},
    [None],
    [[]],
    [{}],
    {"": 1},
    {"\0": {}},
    {"x" * 5000: {"a": 1}},
    {TEXTS[5]: {"a": 1}},
    deep(50),
    deep(400),
    *TEXTS,
    *NUMBERS,
]


def whole(number: int) -> dict[str, Any]:
    """An event with every facet that something is derived from."""
    edges = {"a": [("/in", "x", "DIRECT:IDENTITY")], "b": [("/in", "y", "INDIRECT:FILTER")]}
    lineage = {
        "type": "DATASET",
        "namespace": "file",
        "name": "/out",
        "inputs": [{"type": "DATASET", "namespace": "file", "name": "/in", "field": "x"}],
        "fields": {"a": {"inputs": [{"type": "JOB", "namespace": "test", "name": "other"}]}},
    }
    source = dataset(
        "/in/day=2026-01-01",
        **schema("x", "y"),
        dataSource=facet(name="lake", uri="s3://lake"),
        symlinks=facet(identifiers=[{"namespace": "hive", "name": "in", "type": "TABLE"}]),
        version=facet(datasetVersion="7"),
        ownership=facet(owners=[{"name": "team", "type": "OWNER"}]),
        tags=facet(tags=[{"key": "pii", "value": "yes", "source": "x", "field": "x"}]),
        documentation=facet(description="words"),
        dataQualityMetrics=facet(rowCount=1, columnMetrics={"x": {"nullCount": 1}}),
    )
    target = dataset("/out", **schema("a", "b"), **columns(edges, [("/in", "y", "INDIRECT:SORT")]))
    target["facets"]["lifecycleStateChange"] = facet(lifecycleStateChange="OVERWRITE")
    target["outputFacets"] = {
        "outputStatistics": facet(rowCount=1, size=2, fileCount=3),
        "subset": facet(outputCondition={"type": "partition", "partitions": [{"dimensions": {"day": "2026-01-01"}}]}),
    }
    source["inputFacets"] = {"subset": facet(inputCondition={"type": "location", "locations": ["/in/a"]})}
    return run_event(
        "COMPLETE",
        number,
        "job",
        [source],
        [target],
        run_facets={
            **parent(99, "whole", root=(98, "root")),
            "nominalTime": facet(nominalStartTime="2026-01-01T00:00:00Z", nominalEndTime="2026-01-02T00:00:00Z"),
            "errorMessage": facet(message="no", programmingLanguage="PYTHON", stackTrace="at x"),
            "processing_engine": facet(version="1", name="x"),
            "tags": facet(tags=[{"key": "a", "value": "b"}]),
        },
        job_facets={
            "lineage": facet(entries=[lineage]),
            "sql": facet(query="select 1"),
            "jobType": facet(processingType="BATCH", integration="X", jobType="TASK"),
            "sourceCodeLocation": facet(type="git", url="https://example.test"),
            "ownership": facet(owners=[{"name": "team"}]),
        },
    )


def declared(number: int) -> dict[str, Any]:
    told = whole(number)
    del told["run"], told["eventType"]
    return told


def described(number: int) -> dict[str, Any]:
    told = whole(number)
    entry = told["job"]["facets"]["lineage"]["entries"][0]
    about = told["inputs"][0]
    about["facets"]["lineage"] = facet(**entry)
    return {"eventTime": told["eventTime"], "producer": "p", "dataset": about}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, as the keys that lead there."""
    found = [path] if path else []
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        found += places(one, (*path, key))
    return found


def changed(event: Any, path: tuple[Any, ...], how: str, value: Any) -> None:
    """One mutation, in place."""
    *before, last = path
    for key in before:
        event = event[key]
    if how == "replace":
        event[last] = copy.deepcopy(value)
    elif how == "remove":
        del event[last]
    elif how == "wrap":
        event[last] = [event[last]]
    elif how == "rename" and isinstance(event, dict):
        event[value if isinstance(value, str) else "other"] = event.pop(last)
    elif how == "repeat":
        event[last] = [event[last]] * 300


@st.composite
def mutated(draw: Any) -> Any:
    """A real event with one to four places turned into what should not be there."""
    event = draw(st.sampled_from([whole, whole, declared, described]))(draw(st.integers(0, 50)))
    for _ in range(draw(st.integers(1, 4))):
        told = places(event)
        if not told:
            break
        how = draw(st.sampled_from(["replace", "replace", "replace", "remove", "wrap", "rename", "repeat"]))
        changed(event, told[draw(st.integers(0, len(told) - 1))], how, draw(st.sampled_from(VALUES)))
    return event
