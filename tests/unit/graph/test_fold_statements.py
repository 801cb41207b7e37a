"""Statements of a model or a task are drawn as that: no edge is lost, and none is drawn twice."""

from typing import Any

from headwater.graph.statements import fold_statements

MODEL = "job:dbt:shop.orders"


def job(id_: str, parent: str | None = None, at: str = "2026-01-01T00:00:00Z") -> dict[str, Any]:
    name = id_.split(":", 2)[2]
    return {
        "type": "JOB", "id": id_, "name": name, "label": name, "parent": parent,
        "last_run": {"state": "FAILED" if "2026-01-02" in at else "COMPLETED", "started_at": at},
    }  # fmt: skip


def table(name: str) -> dict[str, Any]:
    return {"type": "DATASET", "id": f"dataset:pg:{name}", "name": name, "label": name}


def edge(source: str, target: str, **more: Any) -> dict[str, Any]:
    return {"source": source, "target": target, "parts": [], "claims": []} | more


def answer(*edges: dict[str, Any], jobs: list[dict[str, Any]], roots: tuple[str, ...] = ()) -> dict[str, Any]:
    columns = [{"source": "dataset:pg:a", "job": f"{MODEL}.sql.1", "target": "dataset:pg:b", "source_field": "x"}]
    return {
        "nodes": [table("a"), table("b"), *jobs], "edges": list(edges), "column_edges": columns, "roots": list(roots)
    }  # fmt: skip


def test_statements_are_their_model() -> None:
    first, second = f"{MODEL}.sql.1", f"{MODEL}.sql.2"
    found = fold_statements(
        answer(
            edge("dataset:pg:a", first, intermittent=True, parts=[{"day": "1"}]),
            edge("dataset:pg:a", second, parts=[{"day": "2"}]),
            edge(second, "dataset:pg:b", intermittent=True),
            jobs=[job(first, MODEL), job(second, MODEL, "2026-01-02T00:00:00Z")],
        )
    )
    assert [node["id"] for node in found["nodes"]] == ["dataset:pg:a", "dataset:pg:b", MODEL]
    model = found["nodes"][-1]
    assert (model["label"], model["name"], model["parent"]) == ("shop.orders", "shop.orders", None)
    assert model["last_run"]["state"] == "FAILED"
    assert [(e["source"], e["target"], e["intermittent"], e["parts"]) for e in found["edges"]] == [
        ("dataset:pg:a", MODEL, False, [{"day": "1"}, {"day": "2"}]),
        (MODEL, "dataset:pg:b", True, []),
    ]
    assert [e["job"] for e in found["column_edges"]] == [MODEL]


def test_the_model_of_the_answer_stays_as_it_is() -> None:
    model = job(MODEL, "job:dbt:run")
    found = fold_statements(answer(edge(f"{MODEL}.sql.1", "dataset:pg:b"), jobs=[job(f"{MODEL}.sql.1", MODEL), model]))
    assert found["nodes"][-1] == model


def test_tasks_roots_and_other_names_are_not_statements() -> None:
    jobs = [
        job("job:airflow:dag.task", "job:airflow:dag"),
        job("job:dbt:other.sql.1", MODEL),
        job(f"{MODEL}.sql.x", MODEL),
        job(f"{MODEL}.query.1", MODEL),
    ]
    asked = answer(jobs=jobs, roots=(f"{MODEL}.query.1",))
    assert fold_statements(asked) == asked
