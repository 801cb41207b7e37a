"""Any order, any repetition and any split of the same events ends in the same tables, and so does a rebuild."""

import json
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.events import columns, dataset, encoded, facet, parent, run_event, schema
from tests.fixtures.postgres import empty
from tests.scale import full

from headwater.intake.events.accept import Intake
from headwater.intake.upkeep.rebuild import fingerprints, rebuild
from headwater.store.database import Database

names = st.sampled_from(["/a", "/b", "/c"])
jobs = st.sampled_from(["one", "two"])
# Few times, so that ties of event time are common and the digest has to break them.
times = st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-02-01T00:00:00+02:00"])
fields = st.sampled_from(["x", "y", "z"])
# Few items, written and read by any run, so that they collide and loop.
items = st.sampled_from([f"0199c0de-1111-7000-8000-{number:012d}" for number in range(4)])


counts = st.sampled_from([0, 1, 2**63 - 1])
moments = st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-02T00:00:00"])
amounts = st.sampled_from([0, 0.1, 12.5])


def measured(draw: Any, **fields: Any) -> dict[str, Any]:
    """A facet with some of these fields; or one that was taken back, or that is not of its shape."""
    told = {name: draw(values) for name, values in fields.items() if draw(st.booleans())}
    odd = draw(st.integers(0, 9))
    return facet(
        **told | ({"_deleted": True} if odd == 0 else {"reads": "x", "wave": -1, "class": 1} if odd == 1 else {})
    )


@st.composite
def dataset_measures(draw: Any) -> dict[str, Any]:
    """Draw measures of a dataset: any of our facets about it."""
    readers = st.lists(st.fixed_dictionaries({"actor": fields, "reads": counts}), max_size=2)
    made = {
        "headwater_usage": lambda: measured(
            draw,
            reads=counts,
            writes=counts,
            lastReadAt=moments,
            status=st.sampled_from(["active", "stale"]),
            topReaders=readers,
        ),
        "headwater_cost": lambda: measured(draw, money=amounts, slotMs=counts, share=amounts),
        "headwater_pruning": lambda: measured(draw, moneyMonth=amounts, evidence=fields) | {"wave": draw(counts)},
    }
    return {name: made[name]() for name in draw(st.lists(st.sampled_from(sorted(made)), unique=True, max_size=2))}


@st.composite
def job_measures(draw: Any) -> dict[str, Any]:
    """Draw measures of a job, or of the log it stands for."""
    drivers = st.lists(st.fixed_dictionaries({"grain": st.just("user"), "key": fields, "money": amounts}), max_size=2)
    days = st.lists(
        st.fixed_dictionaries({
            "day": st.sampled_from(["2026-01-01", "2026-01-02"]), "dialect": st.sampled_from(["", "trino"]), "shapes": counts
        }),
        max_size=3,
    )  # fmt: skip
    made = {
        "headwater_cost": lambda: measured(
            draw, grain=st.sampled_from(["shape", "task"]), executions=counts, drivers=drivers
        ),
        "headwater_recurrence": lambda: (
            measured(draw, confidence=amounts, expectedNextAt=moments) | {"class": draw(fields)}
        ),
        "headwater_queries": lambda: measured(draw, executions=counts, lastAt=moments, level=fields),
        "headwater_quality": lambda: measured(draw, days=days),
    }
    return {name: made[name]() for name in draw(st.lists(st.sampled_from(sorted(made)), unique=True, max_size=2))}


@st.composite
def assertions(draw: Any) -> dict[str, Any]:
    """Results of few checks, so that they collide, also within one event."""
    check = st.fixed_dictionaries(
        {"assertion": fields, "success": st.booleans()},
        optional={
            "column": fields,
            "severity": st.sampled_from(["error", "warn"]),
            "actual": st.sampled_from(["1", "2"]),
        },
    )
    return facet(assertions=draw(st.lists(check, max_size=3)) if draw(st.integers(0, 9)) else "x")


@st.composite
def run_checks(draw: Any) -> dict[str, Any]:
    check = st.fixed_dictionaries({"name": fields, "status": st.sampled_from(["pass", "fail", "skip"])})
    return {"test": facet(tests=draw(st.lists(check, max_size=3)))}


@st.composite
def datasets(draw: Any, *, output: bool = False) -> dict[str, Any]:
    facets: dict[str, Any] = {}
    if draw(st.booleans()):
        facets |= schema(
            *draw(st.lists(fields, unique=True, max_size=3)), type=draw(st.sampled_from(["int", "string"]))
        )
    if output and draw(st.booleans()):
        edges = {
            draw(fields): [(draw(names), draw(fields), "DIRECT:IDENTITY")],
            draw(fields): [(draw(names), draw(fields), "INDIRECT:FILTER")],
        }
        facets |= columns(edges)
    if draw(st.integers(0, 4)) == 0:
        facets["version"] = facet(datasetVersion=draw(st.sampled_from(["1", "2"])))
    if draw(st.integers(0, 4)) == 0:
        facets["documentation"] = facet(description=draw(fields), **({"_deleted": True} if draw(st.booleans()) else {}))
    if draw(st.integers(0, 4)) == 0:
        facets["headwater_declared"] = facet(name="x")
    if draw(st.integers(0, 2)) == 0:
        facets |= draw(dataset_measures())
    if draw(st.integers(0, 3)) == 0:
        facets["dataQualityAssertions"] = draw(assertions())
    if draw(st.integers(0, 4)) == 0:
        before = {"namespace": "file", "name": draw(names)}
        facets["lifecycleStateChange"] = facet(lifecycleStateChange="RENAME", previousIdentifier=before)
    if draw(st.integers(0, 4)) == 0:
        uses = st.fixed_dictionaries({"unique_id": fields, "type": st.sampled_from(["dashboard", "ml"])})
        facets["dbt_exposures"] = facet(exposures=draw(st.lists(uses, max_size=2)))
    made = dataset(draw(names), **facets)
    if draw(st.integers(0, 2)) == 0:
        item: dict[str, Any] = {"bytes": draw(st.sampled_from([1, 2]))}
        if draw(st.booleans()):
            item["id"] = draw(items)
        if draw(st.booleans()):
            item["fingerprint"] = draw(st.sampled_from(["1", "xxh3-128:0"]))
        made["outputFacets" if output else "inputFacets"] = {"headwater_item": facet(**item)}
    return made


@st.composite
def of_a_dbt_model(draw: Any, at: str) -> dict[str, Any]:
    """Draw an event of a dbt model's run or of a statement below it, which names no connection: they share few runs."""
    run, model, table = draw(st.integers(1, 3)), f"model.shop.{draw(jobs)}", draw(fields)
    place = draw(st.sampled_from(["duckdb://a", "duckdb://b"]))
    if draw(st.booleans()):
        return run_event("COMPLETE", run, model, [], [dataset(f"db.main.{model[-3:]}", namespace=place)], at=at)
    query = f'create table "db"."main"."{model[-3:]}__dbt_tmp" as select * from "db"."main"."{table}"'
    job_facets = {
        "jobType": facet(processingType="BATCH", integration="DBT", jobType="SQL"),
        "sql": facet(query=query, dialect="duckdb"),
    }
    return run_event(
        "COMPLETE", run + 10, f"{model}.sql.1", at=at, run_facets=parent(run, model), job_facets=job_facets
    )


@st.composite
def events(draw: Any) -> dict[str, Any]:
    at = draw(times)
    kind = draw(st.integers(0, 9))
    if kind in (2, 3):
        return draw(of_a_dbt_model(at))
    if kind == 0:
        return {"eventTime": at, "producer": "p", "dataset": draw(datasets())}
    inputs, outputs = draw(st.lists(datasets(), max_size=2)), draw(st.lists(datasets(output=True), max_size=2))
    job_facets = draw(job_measures()) if draw(st.integers(0, 2)) == 0 else {}
    if draw(st.integers(0, 3)) == 0:
        ends = st.one_of(
            st.builds(lambda name: {"type": "DATASET", "namespace": "file", "name": name}, names),
            st.builds(lambda name: {"type": "JOB", "namespace": "test", "name": name}, jobs),
            st.just({"type": "JOB"}),
        )
        entry = {**draw(ends), "inputs": draw(st.lists(ends, max_size=2))}
        job_facets["lineage"] = facet(entries=[entry])
    if draw(st.integers(0, 3)) == 0:
        mode = draw(st.sampled_from(["COMPLETE_SNAPSHOT", "ACCUMULATIVE"]))
        job_facets["jobType"] = facet(processingType="STREAMING", emissionPattern={"eventContentMode": mode})
    if kind == 1:
        return {
            "eventTime": at,
            "producer": "p",
            "job": {"namespace": "test", "name": draw(jobs), "facets": job_facets},
            "inputs": inputs,
            "outputs": outputs,
        }
    told = parent(draw(st.integers(1, 3)), draw(jobs)) if draw(st.booleans()) else {}
    if draw(st.integers(0, 2)) == 0:
        causes = [{"item": draw(items)}, parent(draw(st.integers(1, 3)), draw(jobs))["parent"]]
        causes[1] = {"runId": causes[1]["run"]["runId"], "job": causes[1]["job"]}
        told["headwater_step"] = facet(parents=draw(st.lists(st.sampled_from(causes), max_size=2)))
    if draw(st.integers(0, 3)) == 0:
        told |= draw(run_checks())
    if draw(st.integers(0, 3)) == 0:
        told["tags"] = facet(tags=[{"key": draw(fields), "value": draw(fields)}])
        others = st.builds(
            lambda name, kind: {"job": {"namespace": "test", "name": name}, "dependency_type": kind}, jobs, fields
        )
        told["jobDependencies"] = facet(
            upstream=draw(st.lists(others, max_size=2)), downstream=draw(st.lists(others, max_size=1))
        )
    type_ = draw(st.sampled_from(["START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER", None]))
    return run_event(
        type_, draw(st.integers(1, 3)), draw(jobs), inputs, outputs, at=at, run_facets=told, job_facets=job_facets
    )


@settings(
    max_examples=full(60, 20),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(told=st.lists(events(), min_size=1, max_size=8), data=st.data())
def test_order_repetition_and_batching_change_nothing(database: Database, run: Any, told: list[Any], data: Any) -> None:
    run(empty(database))
    run(_send(database, [told]))
    expected = run(fingerprints(database))

    other = data.draw(st.permutations(told + data.draw(st.lists(st.sampled_from(told), max_size=4))))
    cut = data.draw(st.integers(0, len(other)))
    run(empty(database))
    run(_send(database, [part for part in (other[:cut], other[cut:]) if part]))
    assert run(fingerprints(database)) == expected

    run(rebuild(database))
    assert run(fingerprints(database)) == expected


async def _send(database: Database, batches: list[list[Any]]) -> None:
    intake = Intake(database)
    for batch in batches:
        accepted = await intake.accept_batch(json.dumps(batch).encode())
        assert not accepted.refused


def test_a_fingerprint_sees_a_changed_row(database: Database, run: Any) -> None:
    run(_send(database, [[run_event("START", 1, "one", ["/a"], ["/b"])]]))
    before = run(fingerprints(database))

    async def damage() -> None:
        async with database.connection() as connection:
            await connection.execute("update runs set state = 5")

    run(damage())
    after = run(fingerprints(database))
    assert {table for table in after if after[table] != before[table]} == {"runs"}
    run(rebuild(database))
    assert run(fingerprints(database)) == before


def test_statements_for_a_batch_do_not_grow_with_it(database: Database, run: Any, statements: Any) -> None:
    """Two batches of 1 and 200 events: the same statements."""
    counts = []
    for number in (1, 200):
        batch = [
            run_event(
                "COMPLETE",
                i + number * 1000,
                f"job{i}",
                [dataset("/a", **schema("x"))],
                [dataset(f"/o{i}", **schema("y"))],
            )
            for i in range(number)
        ]
        with statements() as counted:
            run(_send(database, [batch]))
        counts.append(len(counted))
    assert counts[0] == counts[1]
    assert counts[1] <= 16


def test_a_late_start_undoes_no_end_and_fail_is_sticky(database: Database, run: Any) -> None:
    told = [
        run_event("COMPLETE", 1, "one", at="2026-01-01T00:00:09Z"),
        run_event("FAIL", 1, "one", at="2026-01-01T00:00:08Z"),
        run_event("START", 1, "one", at="2026-01-01T00:00:10Z"),
        run_event("START", 1, "one", at="2026-01-01T00:00:01Z"),
    ]
    run(_send(database, [[event] for event in told]))

    async def row() -> Any:
        async with database.connection() as connection:
            cursor = await connection.execute("select state, started_at::text, ended_at::text from runs")
            return await cursor.fetchone()

    assert run(row()) == (5, "2026-01-01 00:00:01+00", "2026-01-01 00:00:09+00")


def test_the_log_holds_the_bytes_as_they_came(database: Database, run: Any) -> None:
    body = (
        b'{ "eventTime":"2026-01-01T00:00:00Z",  "producer":"p", "job":{"namespace":"n","name":"\\u00e9"}, "x": 1.50 }'
    )
    run(Intake(database).accept(body))

    async def stored() -> bytes:
        async with database.connection() as connection:
            return (await (await connection.execute("select body from events")).fetchone())[0]  # type: ignore[index]

    assert run(stored()) == body
    assert encoded({}) == b"{}"


def test_observed_once_is_observed(database: Database, run: Any) -> None:
    """An output observed once stays observed, whether its declaration comes before or after."""
    seen = run_event("RUNNING", 1, "one", ["/a"], at="2026-01-01T00:00:01Z")
    declared = run_event(
        "COMPLETE", 1, "one", [dataset("/a", headwater_declared=facet(name="a"))], at="2026-01-01T00:00:02Z"
    )

    async def flags() -> Any:
        async with database.connection() as connection:
            return await (await connection.execute("select declared from report_datasets")).fetchall()

    for order in ([seen, declared], [declared, seen]):
        run(empty(database))
        run(_send(database, [[event] for event in order]))
        assert run(flags()) == [(False,)]
