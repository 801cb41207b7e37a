"""The graph that `headwater sql --html` gives its page: tables, columns, what feeds them, what depends on them."""

from headwater.capture.dbt.project import Dependent
from headwater.cli.sql.project_page import graph
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


def test_nothing_makes_an_empty_drawing() -> None:
    assert graph([]) == {"root": "", "nodes": [], "edges": [], "links": []}
