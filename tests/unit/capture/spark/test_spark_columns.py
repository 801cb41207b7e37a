"""Plans written by hand in Spark's JSON: the composition of dependencies, without Spark."""

import json
from typing import Any

import pytest

from headwater.capture.spark import columns, datasets, dependencies, expands, plan, schema
from headwater.capture.spark.dependencies import How, Source, TooMany
from headwater.capture.spark.relation import EarlierColumn

Flat = list[dict[str, Any]]


def node(kind: str, *children: Flat, **fields: Any) -> Flat:
    own = {"class": f"org.apache.spark.sql.{kind}", "num-children": len(children), **fields}
    return [own, *(item for child in children for item in child)]


def column(name: str, number: int, kind: Any = "integer") -> Flat:
    return node("AttributeReference", name=name, dataType=kind, exprId={"id": number})


def alias(name: str, number: int, child: Flat) -> Flat:
    return node("Alias", child, name=name, exprId={"id": number})


def relation(*pairs: tuple[str, int]) -> Flat:
    return node("LogicalRelation", output=[column(*pair) for pair in pairs])


def project(child: Flat, *expressions: Flat) -> Flat:
    return node("Project", child, projectList=list(expressions))


def resolved(flat: Flat) -> tuple[dict[str, set[str]], set[str]]:
    found = columns.resolve(plan.parse(json.dumps(flat)))
    return {c.name: texts(c.depends) for c in found.columns}, texts(found.rows)


def texts(depends: dependencies.Dependencies) -> set[str]:
    return {
        f"{source.leaf}.{source.field} {how.subtype}{' masking' if how.masking else ''}"
        for source, hows in depends.items()
        for how in dependencies.settled(hows)
    }


TABLE = relation(("a", 1), ("b", 2), ("c", 3))


def test_identity_then_transformation_is_transformation() -> None:
    inner = project(TABLE, alias("x", 10, column("a", 1)))
    outer = project(inner, alias("y", 11, node("Upper", column("x", 10))))
    assert resolved(outer) == ({"y": {"1.a TRANSFORMATION"}}, set())


def test_aggregation_stays_aggregation_after_a_function() -> None:
    total = node("AggregateExpression", node("Sum", column("b", 2)))
    grouped = node(
        "Aggregate", TABLE, groupingExpressions=[column("a", 1)], aggregateExpressions=[alias("t", 10, total)]
    )
    outer = project(grouped, alias("half", 11, node("Divide", column("t", 10), node("Literal"))))
    assert resolved(outer) == ({"half": {"1.b AGGREGATION"}}, {"1.a GROUP_BY"})


def test_masking_survives_what_comes_after() -> None:
    inner = project(TABLE, alias("h", 10, node("Sha2", column("a", 1), node("Literal"))))
    count = node("AggregateExpression", node("Max", column("h", 10)))
    outer = node("Aggregate", inner, groupingExpressions=[], aggregateExpressions=[alias("m", 11, count)])
    assert resolved(outer)[0] == {"m": {"1.a AGGREGATION masking"}}


def test_a_predicate_of_a_computed_column_is_a_filter_on_its_sources() -> None:
    inner = project(TABLE, alias("s", 10, node("Add", column("a", 1), column("b", 2))), column("c", 3))
    outer = node("Filter", inner, condition=node("GreaterThan", column("s", 10), node("Literal")))
    assert resolved(outer)[1] == {"1.a FILTER", "1.b FILTER"}


def test_case_when_splits_predicates_from_values() -> None:
    case = node("CaseWhen", node("Equal", column("a", 1)), column("b", 2), column("c", 3))
    assert resolved(project(TABLE, alias("x", 10, case)))[0] == {
        "x": {"1.a CONDITIONAL", "1.b TRANSFORMATION", "1.c TRANSFORMATION"}
    }


def test_conditional_inside_an_aggregate_stays_indirect() -> None:
    case = node("If", column("a", 1), column("b", 2), node("Literal"))
    total = node("AggregateExpression", node("Sum", case))
    grouped = node("Aggregate", TABLE, groupingExpressions=[], aggregateExpressions=[alias("t", 10, total)])
    assert resolved(grouped)[0] == {"t": {"1.a CONDITIONAL", "1.b AGGREGATION"}}


def test_union_goes_by_position_and_keeps_scopes_apart() -> None:
    left, right = relation(("a", 1), ("b", 2)), relation(("x", 1), ("y", 2))
    right = relation(("x", 21), ("y", 22))
    assert resolved(node("Union", left, right))[0] == {
        "a": {"1.a IDENTITY", "21.x IDENTITY"},
        "b": {"1.b IDENTITY", "21.y IDENTITY"},
    }


def test_a_semi_join_outputs_the_left_alone() -> None:
    on = node("EqualTo", column("a", 1), column("k", 21))
    flat = node("Join", TABLE, relation(("k", 21)), joinType={"object": "x.LeftSemi$"}, condition=on)
    fields, rows = resolved(flat)
    assert set(fields) == {"a", "b", "c"}
    assert rows == {"1.a JOIN", "21.k JOIN"}


def test_struct_fields_go_deeper_only_while_untouched() -> None:
    nested = node("GetStructField", node("GetStructField", column("a", 1), name="p"), name="q")
    touched = node("GetStructField", node("SomeFunction", column("a", 1)), name="p")
    fields, _ = resolved(project(TABLE, alias("x", 10, nested), alias("y", 11, touched)))
    assert fields == {"x": {"1.a.p.q IDENTITY"}, "y": {"1.a TRANSFORMATION"}}


def test_an_unknown_node_with_an_output_depends_on_everything() -> None:
    fields, _ = resolved(node("MysteryExec", TABLE, output=[column("z", 30), column("a", 1)]))
    assert fields["z"] == {"1.a TRANSFORMATION", "1.b TRANSFORMATION", "1.c TRANSFORMATION"}
    assert fields["a"] == {"1.a IDENTITY"}


def test_a_cut_plan_reuses_earlier_columns() -> None:
    cut = node("LogicalRDD", output=[column("a", 40), column("b", 41)])
    decided = dependencies.deciding(dependencies.of(Source("1", "k")), dependencies.FILTER)
    known = {40: EarlierColumn(dependencies.of(Source("1", "orig")), None, decided)}
    found = columns.resolve(plan.parse(json.dumps(cut)), known)
    assert [texts(c.depends) for c in found.columns] == [{"1.orig IDENTITY"}, set()]
    assert texts(found.rows) == {"1.k FILTER"}


def test_the_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "LIMIT", 2)
    with pytest.raises(TooMany):
        resolved(TABLE)


def test_the_strongest_direct_entry_covers_the_others() -> None:
    hows = frozenset({How(True, "IDENTITY"), How(True, "AGGREGATION"), How(False, "FILTER"), How(False, "CONDITIONAL")})
    assert [how.subtype for how in dependencies.settled(hows)] == ["AGGREGATION", "CONDITIONAL", "FILTER"]


def test_rows_of_an_expand_are_split_at_the_top_level() -> None:
    assert expands.split_row("List(a#1, f(b#2, 1), null)") == ["a#1", "f(b#2, 1)", "null"]


def test_a_query_behind_jdbc_is_named_by_its_table_when_it_has_one() -> None:
    url = "jdbc:postgresql://h:5432/db?password=secret"
    found = datasets.jdbc(url, "(select * from s.t where x > 1) q", [])
    assert (found.namespace, found.name) == ("postgres://h:5432", "db.s.t")
    assert "secret" not in found.uri


def test_nested_types() -> None:
    kind = {"type": "array", "elementType": {"type": "struct", "fields": [{"name": "p", "type": "long"}]}}
    (field,) = schema.struct_fields({"fields": [{"name": "x", "type": kind}]})
    assert field["type"] == "array<struct>"
    assert field["fields"] == [{"name": "p", "type": "long", "ordinal_position": 1}]


def test_what_is_no_plan_is_refused() -> None:
    with pytest.raises(ValueError, match="not a plan"):
        plan.parse("[]")
