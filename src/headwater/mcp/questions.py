"""The questions: each asks Headwater's own API and makes its answer short. An empty answer says why it is empty.

They ask over HTTP routes, so a key's role and the server's limits hold for them as for any other request.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote

from headwater.errors import InvalidQuestion, NotFound
from headwater.graph.statements import find_parents, fold_statements, fold_ways
from headwater.mcp.budget import Answer, fitted, listed, plain, stated

# Ask a route of `/api/v2` with parameters; return the body of its answer. Raises what `headwater.client.ask` raises.
Ask = Callable[[str, Mapping[str, object]], Awaitable[bytes]]
Arguments = Mapping[str, Any]

_MORE = "raise `budget`, or narrow the question"
_MOST_NAMESAKES = 5
_PAGE = "ask again with a larger `offset`, or raise `budget`"


async def _get(ask: Ask, path: str, **parameters: object) -> Any:
    return json.loads(await ask(f"/api/v2{path}", parameters))


async def _resolved(ask: Ask, name: str, type_: str | None = None) -> dict[str, Any]:
    """Return the dataset or job that a name means. Raises NotFound or InvalidQuestion with what it could be."""
    found = await _get(ask, "/resolve", name=name, type=type_)
    if found["match"] is not None:
        return found["match"]  # type: ignore[no-any-return]
    if not found["candidates"]:
        place = (await _get(ask, "/objects", text=name))["object"]
        if place is not None and place["type"] == "COLUMN":
            raise InvalidQuestion(f"{name!r} is a column of {place['node']}: ask about that, or ask `columns`")
    if found["candidates"]:
        ids = [one["id"] for one in found["candidates"]]
        raise InvalidQuestion(f"{name!r} could be any of {len(ids)}: {', '.join(ids[:10])}. Ask with one of these ids")
    near = ", ".join(one["id"] for one in found["suggestions"][:10])
    raise NotFound(
        f"nothing is named {name!r}" + (f"; near it: {near}" if near else "; try `search` with a part of the name")
    )


async def _namesakes(ask: Ask, name: str, found: str) -> Answer:
    """Return `also`: what else a bare name may mean, of the other type than what was found. A node id means one thing."""
    if name == found:
        return {}
    other = "DATASET" if found.startswith("job:") else "JOB"
    told = await _get(ask, "/resolve", name=name, type=other)
    ids = [one["id"] for one in ([told["match"]] if told["match"] is not None else told["candidates"])]
    return {"also": ids[:_MOST_NAMESAKES]} if ids else {}


async def _place(ask: Ask, name: str) -> tuple[str, str | None]:
    """Return the node id and the column that a text means. Raises NotFound or InvalidQuestion."""
    found = await _get(ask, "/objects", text=name)
    one = found["object"]
    if one is None:
        could = [candidate["id"] for candidate in found["candidates"]] or found["suggestions"]
        words = (
            f"could be any of {', '.join(could[:10])}"
            if found["candidates"]
            else f"is not known; near it: {', '.join(could[:10]) or 'nothing'}"
        )
        raise (InvalidQuestion if found["candidates"] else NotFound)(f"{name!r} {words}")
    if one["type"] not in {"DATASET", "JOB", "COLUMN"}:
        raise InvalidQuestion(f"{name!r} is a {one['type'].lower()}: name a dataset, a job or a column")
    return (one["node"], one["column"]) if one["type"] == "COLUMN" else (one["id"], None)


def _walk(given: Arguments) -> dict[str, object]:
    return {"direction": given.get("direction", "both"), "depth": given.get("depth", 3), "as_of": given.get("as_of")}


def _segments(found: Mapping[str, Any]) -> str:
    return f"/{found['type'].lower()}s/{quote(found['namespace'], safe='')}/{quote(found['name'], safe='')}"


async def search(ask: Ask, given: Arguments) -> Answer:
    """Find datasets, jobs and schedules by words."""
    found = await _get(
        ask,
        "/search",
        q=given["words"],
        type=given.get("type"),
        namespace=given.get("namespace"),
        limit=given.get("limit", 20),
        offset=given.get("offset", 0),
    )
    rows = [plain({key: one[key] for key in ("id", "type", "matched", "detail")}) for one in found["results"]]
    fixed: Answer = {"total": found["total"]} | ({"searched_instead": found["corrected"]} if found["corrected"] else {})
    if not rows:
        if found["total"]:
            fixed["empty_because"] = f"there are {found['total']}, fewer than `offset`"
        else:
            within = f" in namespace {given['namespace']!r}" if given.get("namespace") else ""
            within += f" of type {given['type']}" if given.get("type") else ""
            fixed["empty_because"] = (
                f"no name, column, tag, owner, description or SQL that was reported{within} has these words"
            )
    return listed(
        fixed,
        {"results": rows},
        given["budget"],
        _PAGE,
        {"results": max(found["total"] - given.get("offset", 0) - len(rows), 0)},
    )


def _edge(edge: Mapping[str, Any]) -> Answer:
    claims = edge.get("claims") or []
    return plain(  # type: ignore[no-any-return]
        {
            "from": edge["source"],
            "to": edge["target"],
            "level": edge["origin"],
            "evidence": sorted({claim["evidence"] for claim in claims}),
            "by": sorted({claim["by"] for claim in claims if claim["by"]} - {edge["source"], edge["target"]}),
            "last_seen": edge.get("last_seen"),
            "intermittent": edge.get("intermittent") or None,
        }
    )


async def lineage(ask: Ask, given: Arguments) -> Answer:
    """Return the nodes and edges above and below something, the nearest first."""
    found = await _get(ask, "/lineage", node=given["name"], **_walk(given))
    if found["candidates"]:
        ids = [one["id"] for one in found["candidates"]]
        raise InvalidQuestion(f"{given['name']!r} could be any of {len(ids)}: {', '.join(ids[:10])}. Ask with one of these ids")  # fmt: skip
    listed_jobs = len(found["nodes"])
    if not given.get("children"):
        found = fold_statements(found)
    folded = listed_jobs - len(found["nodes"])
    above = find_parents(found["nodes"]).get(found["root"])
    subject = found["subject"] or {}
    about: Answer = {"column": subject["column"]} if subject.get("type") == "COLUMN" else {}
    if found["root"].startswith(("dataset:", "job:")):
        about |= await _namesakes(ask, given["name"], found["root"]) if not about else {}
    nodes = sorted(found["nodes"], key=lambda one: (abs(one["hop"]), one["id"]))
    hidden = found["hidden"]["nodes"]

    def make(length: int) -> Answer:
        shown = {one["id"] for one in nodes[:length]}
        edges = [_edge(one) for one in found["edges"] if one["source"] in shown and one["target"] in shown]
        answer: Answer = {
            "root": found["root"],
            **about,
            "nodes": [
                plain({"id": one["id"], "hop": one["hop"], "state": (one.get("last_run") or {}).get("state")})
                for one in nodes[:length]
            ],
            "edges": edges,
        }
        if len(nodes) <= 1:
            answer["empty_because"] = _no_lineage(
                found["root"], given.get("direction", "both"), given.get("depth", 3), above
            )
        if folded > 0:
            answer["folded"] = f"{folded} jobs that are one statement of a job; `children` shows them"
        missing = {"nodes": len(nodes) - length, "edges": len(found["edges"]) - len(edges), "beyond_depth": hidden}
        return stated(
            answer, missing, "raise `budget` or `depth`, ask one `direction`, or ask about one of the outermost nodes"
        )

    return fitted(make, len(nodes), given["budget"])


def _no_lineage(root: str, direction: str, depth: int, above: str | None = None) -> str:
    if not depth:
        return "depth is 0"
    if above is not None:
        return f"it is one statement of {above}, whose lineage has what it read and wrote: ask about that"
    side = {"upstream": "writes or feeds it", "downstream": "reads it"}.get(direction, "reads, writes or feeds it")
    return f"no run, declaration, SQL or person has reported that anything {side}; {root} itself is known"


async def columns(ask: Ask, given: Arguments) -> Answer:
    """Return which columns feed which, around a dataset or one column."""
    node, column = await _place(ask, given["name"])
    found = await _get(ask, "/lineage", node=node, field=column, columns=True, **_walk(given))
    if not given.get("children"):
        found = fold_statements(found)
    rows = [
        plain(
            {
                "from": one["source"], "from_column": one["source_field"], "to": one["target"], "to_column": one["target_field"],
                "job": one["job"], "level": one["origin"],
                "how": [" ".join(filter(None, (t["type"], t["subtype"], "MASKED" if t["masking"] else None))) for t in one["transformations"]],
            }
        )
        for one in found["column_edges"]
    ]  # fmt: skip
    fixed: Answer = {"root": node} | ({"column": column} if column else {})
    if not rows:
        fixed["empty_because"] = (
            "the jobs around it report no column lineage, and their SQL is unknown or does not name these columns; `lineage` has the tables"
            if len(found["nodes"]) > 1
            else _no_lineage(node, given.get("direction", "both"), given.get("depth", 3))
        )
    hint = f"{_MORE}; `depth` goes further"
    return listed(fixed, {"edges": rows}, given["budget"], hint, {"beyond_depth": found["hidden"]["nodes"]})


async def paths(ask: Ask, given: Arguments) -> Answer:
    """Return the shortest ways from one dataset, job or column to another."""
    (start, start_field), (end, end_field) = await _place(ask, given["source"]), await _place(ask, given["target"])
    asked = {"from": start, "to": end, "from_field": start_field, "to_field": end_field, "limit": 20}
    found = await _get(ask, "/paths", direction=given.get("direction", "both"), **asked)
    columns = bool(start_field or end_field)
    parents = {} if given.get("children") else find_parents(found["nodes"], (start, end))
    ways = [_column_path(one["steps"]) if columns else one["nodes"] for one in found["paths"]]
    rows = fold_ways(ways, parents)
    fixed: Answer = plain(
        {
            "from": start,
            "to": end,
            "direction": found["direction"],
            "length": found["length"],
            "total": found["total"] - len(ways) + len(rows),
        }
    )
    if not rows:
        fixed["empty_because"] = (
            found["reason"] or f"no way of reported edges leads from the one to the other{_ways(given)}"
        )
    return listed(fixed, {"paths": rows}, given["budget"], _MORE, {"paths": max(found["total"] - len(ways), 0)})


def _ways(given: Arguments) -> str:
    direction = given.get("direction", "both")
    return ", in either direction" if direction == "both" else f" {direction}; ask `both` for the other direction"


def _column_path(steps: list[Any]) -> list[str]:
    ends = [(steps[0]["source"], steps[0]["source_field"]), *((one["target"], one["target_field"]) for one in steps)]
    return [" ".join(filter(None, end)) for end in ends]


async def describe(ask: Ask, given: Arguments) -> Answer:
    """Return what is known of a dataset or a job."""
    one = await _resolved(ask, given["name"], given.get("type"))
    found = await _get(ask, _segments(one), as_of=given.get("as_of"))
    kept = (
        "id",
        "description",
        "parent",
        "statement",
        "user",
        "updated_at",
        "first_seen",
        "version_count",
    )
    fixed = plain({key: found.get(key) for key in kept})
    if "completeness" in found:
        fixed["completeness"] = found["completeness"]["summary"]
    lists = {
        key: [plain(row) if isinstance(row, dict) else row for row in found[key]]
        for key in (
            "tags",
            "owner_names",
            "aliases",
            "fields",
            "producers",
            "consumers",
            "inputs",
            "outputs",
            "children",
        )
        if found.get(key)
    }
    fixed |= await _namesakes(ask, given["name"], one["id"]) if not given.get("type") else {}
    return listed(fixed, lists, given["budget"], _MORE)


async def history(ask: Ask, given: Arguments) -> Answer:
    """Return the writes of a dataset, or the runs of a job, the latest first."""
    one = await _resolved(ask, given["name"], given.get("type"))
    if one["type"] == "JOB":
        told = await _get(ask, "/runs", job=one["id"], limit=given.get("limit", 20), offset=given.get("offset", 0))
        rows = [
            plain({key: run.get(key) for key in ("id", "state", "started_at", "ended_at", "duration_ms")})
            for run in told["runs"]
        ]
        fixed: Answer = {"job": one["id"], "total": told["total"]}
        if not rows:
            fixed["empty_because"] = (
                f"it has {told['total']} runs, fewer than `offset`"
                if told["total"]
                else "no run of it was reported; it is declared, or only named by others"
            )
        beyond = {"runs": max(told["total"] - given.get("offset", 0) - len(rows), 0)}
        return listed(fixed, {"runs": rows}, given["budget"], _PAGE, beyond)
    found = await _get(ask, "/update-log", node=one["id"], limit=given.get("limit", 20), offset=given.get("offset", 0))
    rows = [plain(update) for update in found["updates"]]
    fixed = {"dataset": one["id"], "total": found["total"]}
    if not rows:
        fixed["empty_because"] = (
            f"it has {found['total']} writes, fewer than `offset`"
            if found["total"]
            else "no run has reported to write it; it is only read, or declared"
        )
    beyond = {"updates": max(found["total"] - given.get("offset", 0) - len(rows), 0)}
    return listed(fixed, {"updates": rows}, given["budget"], _PAGE, beyond)


async def changes(ask: Ask, given: Arguments) -> Answer:
    """Return what changed in the graph between two times."""
    node = (await _place(ask, given["name"]))[0] if given.get("name") else None
    asked = {
        "from": given["since"],
        "to": given.get("until"),
        "node": node,
        "namespace": given.get("namespace"),
        "children": given.get("children"),
    }
    found = await _get(ask, "/lineage/diff", columns=True, **asked)
    lists = {
        f"{kind}_{way}": _changed(rows)
        for kind in ("nodes", "edges", "column_edges")
        for way, rows in found[kind].items()
        if rows
    }
    if found["schemas"]:
        lists["schemas"] = [plain(one) for one in found["schemas"]]
    fixed: Answer = {"from": found["from"], "to": found["to"]}
    if not found["complete"]:
        fixed["incomplete"] = "the graph is larger than what was compared: name something in it"
    if not lists:
        fixed["empty_because"] = "the graph there is the same at both times"
    return listed(fixed, lists, given["budget"], _MORE)


def _changed(rows: list[Any]) -> list[Any]:
    return [
        row["id"] if "hop" in row else plain({key: value for key, value in row.items() if key != "claims"})
        for row in rows
    ]


async def status(ask: Ask, given: Arguments) -> Answer:
    """Return how a dataset or job is; without a name what needs a person now."""
    if not given.get("name"):
        found = await _get(ask, "/overview", limit=50)
        first, silent = [plain(one) for one in found["first"]], [plain(one) for one in found["silent"]]
        fixed: Answer = {
            "incidents": found["incidents"],
            "events": found["events"],
            "coverage": plain(found["coverage"]),
        }
        if not first and not silent:
            fixed["empty_because"] = (
                "nothing is open: no run failed last, nothing is late, no check fails, no producer fell silent"
            )
        more = {"first": max(sum(found["incidents"].values()) - len(first), 0), "silent": found["more_silent"]}
        return listed(fixed, {"first": first, "silent": silent}, given["budget"], _MORE, more)
    one = await _resolved(ask, given["name"], given.get("type"))
    if one["type"] == "JOB":
        found = await _get(ask, _segments(one))
        runs = [
            plain({key: run.get(key) for key in ("id", "state", "started_at", "ended_at")}) for run in found["runs"][:5]
        ]
        fixed = {"job": one["id"], "last_state": runs[0]["state"] if runs else None}
        if not runs:
            fixed["empty_because"] = "no run of it was reported"
        return listed(fixed, {"last_runs": runs}, given["budget"], "ask `history`")
    found = await _get(ask, f"{_segments(one)}/freshness")
    kept = (
        "id",
        "available",
        "state",
        "last_update",
        "expected_next",
        "late_seconds",
        "missed",
        "failures_since",
        "failing_since",
    )
    fixed = plain(
        {key: found[key] for key in kept}
        | {"checks": {key: found["quality"][key] for key in ("state", "passed", "failed")}}
    )
    if found["state"] == "unknown":
        fixed["unknown_because"] = (
            "fewer than four updates were reported, so no rhythm is known: it is never called late"
        )
    return fixed


async def usage(ask: Ask, given: Arguments) -> Answer:
    """Return who reads and writes datasets, by the warehouse's query log."""
    one = await _resolved(ask, given["name"], "DATASET") if given.get("name") else None
    found = await _get(ask, "/usage", node=one["id"] if one else None, namespace=given.get("namespace"), limit=100)
    rows = [plain(row) for row in found["datasets"]]
    fixed: Answer = {"measured_at": found["measured_at"], "total": found["total"]}
    if not rows:
        fixed["empty_because"] = (
            "no query log was read: use is known only from `headwater sync` of a warehouse's log"
            if found["measured_at"] is None
            else "the query logs that were read do not mention it"
        )
    return listed(fixed, {"datasets": rows}, given["budget"], _MORE, {"datasets": max(found["total"] - len(rows), 0)})


async def quality(ask: Ask, given: Arguments) -> Answer:
    """Return the latest results of the checks of a dataset; without a name how much of the lineage is known."""
    if not given.get("name"):
        coverage = await _get(ask, "/coverage", namespace=given.get("namespace"))
        told: Answer = plain({"coverage": coverage})
        if not coverage["datasets"] and not coverage["jobs"]:
            within = f" in namespace {given['namespace']!r}" if given.get("namespace") else ""
            told["empty_because"] = f"no dataset and no job was reported{within}"
        return told
    one = await _resolved(ask, given["name"], "DATASET")
    found = (await _get(ask, f"{_segments(one)}/freshness"))["quality"]
    rows = [
        plain({key: row[key] for key in ("assertion", "column", "success", "at")} | {"run": row["run"]["run_id"]})
        for row in found["assertions"]
    ]
    fixed: Answer = {
        "dataset": one["id"],
        "state": found["state"],
        "passed": found["passed"],
        "failed": found["failed"],
    }
    if not rows:
        fixed["empty_because"] = (
            "no run or event reported a check of it; that it has no failed check does not say that it is right"
        )
    return listed(fixed, {"checks": rows}, given["budget"], _MORE)
