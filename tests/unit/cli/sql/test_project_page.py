"""The graph that `headwater sql --html` gives its page: tables, columns, what feeds them, what depends on them."""

import json

from hypothesis import given
from hypothesis import strategies as st

from headwater.capture.dbt.project import Dependent
from headwater.cli.sql.project_page import filled, graph
from headwater.cli.sql.statements import ParsedStatement
from headwater.columns import analyse

TEXT = """
create table mart.d as select o.id, o.amount * 2 as twice from raw.orders as o where o.paid;
insert into mart.d select * from mart.d;
select id from mart.d;
"""


def drawn() -> dict[str, list[tuple[str, ...]]]:
    found = [ParsedStatement("f.sql", TEXT, one) for one in analyse(TEXT, "postgres")]
    board = Dependent("exposure", "board", "e.yml", (("mart", "d"),))
    checked = Dependent("test", "unique", "t.yml", (("mart", "d"),))
    made = graph(found, [board, checked])
    return {
        "nodes": [
            (node["title"], node["kind"], *(field["name"] for field in node["fields"])) for node in made["nodes"]
        ],
        "edges": [(edge["source"], edge["target"]) for edge in made["edges"]],
        "links": [
            (str(link["sourceField"]), str(link["targetField"]), str(link["indirect"])) for link in made["links"]
        ],
    }


def test_tables_columns_and_dependents() -> None:
    found = drawn()
    assert found["nodes"] == [
        ("mart.d", "dataset", "id", "twice"),
        ("raw.orders", "dataset", "id", "amount", "paid"),
        ("result of f.sql:4", "job", "id"),
        ("exposure board", "job"),
    ]
    assert found["edges"] == [("raw.orders", "mart.d"), ("mart.d", "result of f.sql:4"), ("mart.d", "exposure board")]
    assert found["links"] == [
        ("id", "id", "False"),
        ("amount", "twice", "False"),
        ("paid", "None", "True"),
        ("id", "id", "False"),
    ]


STRUCTS = """
create table d.people as select struct(name, upper(city) as town) as who, id from d.raw;
create table d.towns as select who.town, who, id from d.people;
create table d.kept as select k.sub.a as a, k.other as b from d.towns, d.outside as k;
"""


def test_fields_of_structs_are_columns_beside_their_own() -> None:
    found = [ParsedStatement("f.sql", STRUCTS, one) for one in analyse(STRUCTS, "bigquery")]
    made = graph(found)
    fields = {node["title"]: [field["name"] for field in node["fields"]] for node in made["nodes"]}
    assert fields["d.people"] == ["who", "who.name", "who.town", "id"]
    assert fields["d.towns"] == ["town", "who", "id"]
    assert fields["d.outside"] == ["sub", "other"]  # No statement makes fields of its columns.
    links = {(one["source"], one["sourceField"], one["target"], one["targetField"]) for one in made["links"]}
    assert ("d.raw", "city", "d.people", "who.town") in links
    assert ("d.people", "who.town", "d.towns", "town") in links
    assert ("d.raw", "name", "d.people", "who.town") not in links


NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30) | st.sampled_from(
    [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "]]>",
        "\u2028",
        "\u2029",
        "&lt;/script&gt;",
        "\\u003c/script\\u003e",
        "null</script>",
        "\ufeff",
    ]
)


@given(NAMES, NAMES, NAMES)
def test_names_reach_the_page_as_data_only(title: str, table: str, column: str) -> None:
    place = '<script type="application/json" id="lineage">null</script>'
    built = f"<html><head>{place}</head><body></body></html>"
    content = graph([], [Dependent("exposure", title, "e.yml", ((table, column),))])
    written = filled(built, title, column, content)
    before, _, after = built.partition("null</script>")
    assert written.startswith(before)
    assert written.endswith("</script>" + after)
    inside = written[len(before) : len(written) - len("</script>" + after)]
    assert not set("<>&\u2028\u2029") & set(inside)
    assert json.loads(inside) == {"title": title, "summary": column, "graph": content}


def test_nothing_makes_an_empty_drawing() -> None:
    assert graph([]) == {"root": "", "nodes": [], "edges": [], "links": []}
