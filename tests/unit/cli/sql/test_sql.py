"""`headwater sql`: what it prints, what it refuses, how it ends."""

import datetime as dt
import io
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from headwater.cli import extras, main
from headwater.cli.sql import column_graph, reading, statements
from headwater.columns import analyse
from headwater.columns.dialect import NAMES
from headwater.errors import NotInstalled
from headwater.intake.events.project import Projector
from headwater.model.event import read

ROOT = Path(__file__).parents[4]
SALES = """-- daily sales
INSERT INTO mart.sales (day, customer, total, n)
SELECT date_trunc('day', o.ts), md5(c.email), sum(CASE WHEN o.state = 'paid' THEN o.amount END), count(*)
FROM raw.orders AS o JOIN raw.customers AS c ON o.customer_id = c.id
WHERE o.deleted = false
GROUP BY 1, 2;
"""
SALES_PRINTED = """\
sales.sql:2  INSERT → mart.sales
  reads   raw.orders, raw.customers
  writes  mart.sales
  ├─ day      ← raw.orders.ts        TRANSFORMATION
  ├─ customer ← raw.customers.email  TRANSFORMATION masked
  ├─ total    ← raw.orders.amount    AGGREGATION
  │           ⇠ raw.orders.state     CONDITIONAL
  └─ n        (no column)
  rows ⇠ raw.customers.email     GROUP_BY masked
       ⇠ raw.customers.id        JOIN
       ⇠ raw.orders.customer_id  JOIN
       ⇠ raw.orders.deleted      FILTER
       ⇠ raw.orders.ts           GROUP_BY

1 statement: 1 understood in full, 0 in part, 0 not
"""
OPEN = "SELECT s.*, k FROM a.s AS s, a.t;"
BROKEN = "zzz yyy xxx;"


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ended]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs `headwater sql …` in a folder of its own; `stdin` is what waits there."""
    monkeypatch.chdir(tmp_path)

    def do(*arguments: str, stdin: str = "") -> Ended:
        monkeypatch.setattr(sys, "argv", ["headwater", "sql", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return Ended(int(ended.value.code or 0), told.out, told.err)

    return do


def write(name: str, text: str | bytes) -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return name


# -- the plain form --


def test_the_plain_form(run: Run) -> None:
    told = run(write("sales.sql", SALES))
    assert told.out == SALES_PRINTED
    assert told.code == 0
    assert SALES_PRINTED in (ROOT / "README.md").read_text(encoding="utf-8")


def test_unresolved_names_and_partly_understood_statements_are_reported(run: Run) -> None:
    told = run("-", stdin=f"{OPEN}\n{BROKEN}")
    assert "└─ k ← ? k  " in told.out
    assert "  ? k: a.s.k or a.t.k  (more than one table of unknown schema may have it; confidence 0.50)" in told.out
    assert "[not understood]" in told.out
    assert told.out.endswith("2 statements: 0 understood in full, 1 in part, 1 not; 1 name unresolved\n")


def test_changes_of_tables(run: Run) -> None:
    assert "change  RENAME t → u" in run("-", "-d", "postgres", stdin="ALTER TABLE t RENAME TO u").out
    assert "change" not in run("-", stdin="CREATE TABLE t AS SELECT a FROM s").out


def test_a_statement_with_two_targets_has_two_trees(run: Run) -> None:
    told = run("-", "-d", "hive", stdin="FROM s INSERT INTO TABLE t SELECT s.a INSERT INTO TABLE u SELECT s.b")
    assert told.out.index("APPEND → t") < told.out.index("← s.a") < told.out.index("APPEND → u")


def test_statements_of_a_procedure_say_where_they_stand(run: Run) -> None:
    text = "CREATE PROCEDURE p() AS\nBEGIN\n  INSERT INTO t SELECT a FROM s;\nEND"
    told = run("-", "-d", "tsql", stdin=text).out
    assert "stdin:1  CREATE PROCEDURE p\n" in told
    assert "stdin:3  INSERT → t  in p  [understood in part]\n" in told
    first, second = run("-", "-d", "tsql", "--json", stdin=text).json["statements"]
    assert (first["name"], first["within"], second["within"]) == ("p", None, "p")


def test_fields_inside_a_column(run: Run) -> None:
    text = "create table t as select struct(a, b) as k, c from f; create table u as select k.a + k.b as x from t"
    told = run("-", "-d", "spark", stdin=text)
    assert "  │  k.a ← f.a  IDENTITY\n  │  k.b ← f.b  IDENTITY\n" in told.out
    assert "x ← t.k (at a, b)  TRANSFORMATION" in told.out
    first, second = run("-", "-d", "spark", "--json", stdin=text).json["statements"]
    assert [one["path"] for one in first["flows"][0]["columns"][0]["fields"]] == ["a", "b"]
    assert second["flows"][0]["columns"][0]["inputs"][0]["paths"] == ["a", "b"]


def test_names_are_neither_cut_nor_let_loose_on_the_terminal(run: Run) -> None:
    long = "c" * 500
    told = run("-", stdin=f'SELECT {long}, "\x1b[2J" FROM t')
    assert long in told.out
    assert "\x1b" not in told.out
    assert "\\x1b[2J" in told.out


def test_table_level_leaves_columns_out(run: Run) -> None:
    told = run(write("sales.sql", SALES), "--table-level")
    assert "reads   raw.orders, raw.customers" in told.out
    assert "amount" not in told.out
    assert "columns" not in run("sales.sql", "--table-level", "--json").json["statements"][0]["flows"][0]


# -- other forms --


def test_every_dialect_is_described() -> None:
    described = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    assert ", ".join(NAMES) in described
    assert f"any of {len(NAMES)} dialects" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_json_has_the_shape_the_reference_describes(run: Run) -> None:
    told = run(write("sales.sql", SALES + OPEN), "--json", "--fingerprint").json
    first, second = told["statements"]
    assert first["file"] == "sales.sql"
    assert (first["index"], first["line"], first["kind"], first["level"]) == (0, 2, "INSERT", "full")
    assert first["writes"] == [{"name": "mart.sales", "parts": ["mart", "sales"]}]
    assert first["flows"][0]["columns"][1] == {
        "name": "customer",
        "inputs": [
            {
                "table": {"name": "raw.customers", "parts": ["raw", "customers"]},
                "field": "email",
                "path": None,
                "transformations": [{"type": "DIRECT", "subtype": "TRANSFORMATION", "masking": True}],
            }
        ],
    }
    assert len(first["flows"][0]["rows"]) == 5
    assert second["unresolved"][0]["name"] == "k"
    assert second["unresolved"][0]["feeds"] == [
        {"flow": 0, "column": 1, "transformations": [{"type": "DIRECT", "subtype": "IDENTITY", "masking": False}]}
    ]
    assert told["totals"] == {"statements": 2, "full": 1, "partial": 1, "tables": 0, "nothing": 0, "unresolved": 1}
    described = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    for key in {*told, *first, *first["flows"][0], *second["unresolved"][0]}:
        assert f"`{key}`" in described, key


def test_fingerprints(run: Run) -> None:
    told = run("-", "--fingerprint", stdin="SELECT a FROM t WHERE b = 1;\nselect a\nfrom t where b = 22")
    (one, text), (other, _) = (line.split("\t") for line in told.out.splitlines())
    assert one == other
    assert text == "SELECT a FROM t WHERE b = ?"


def test_mermaid_and_dot_group_columns_by_table(run: Run) -> None:
    write("sales.sql", SALES)
    chart = run("sales.sql", "--mermaid").out.splitlines()
    assert chart[0] == "flowchart LR"
    assert '  subgraph t0["mart.sales"]' in chart
    assert any("-.->" in line and "JOIN" in line for line in chart)
    graph = run("sales.sql", "--dot").out
    assert 'label="raw.orders";' in graph
    assert {line[-14:-2] for line in graph.splitlines() if "JOIN" in line} == {"style=dotted"}
    assert not any("dotted" in line for line in graph.splitlines() if "AGGREGATION" in line)
    assert graph.rstrip().endswith("}")
    assert "cylinder" in run("sales.sql", "--dot", "--table-level").out


def test_pictures_cannot_be_broken_out_of() -> None:
    text = 'SELECT "x""];click c0 ""javascript:alert(1)""\n<script>" FROM "t]""\n"'
    graph = column_graph.Graph([statements.ParsedStatement("f", text, one) for one in analyse(text)])
    chart = column_graph.mermaid(graph)
    assert "<script>" not in chart
    assert all(line.startswith(("flowchart", "  ")) for line in chart.splitlines())
    assert all(line.startswith(("digraph", "  ", "}")) for line in column_graph.dot(graph).splitlines())


def test_a_table_that_feeds_itself_is_one_group() -> None:
    text = "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v"
    graph = column_graph.Graph([statements.ParsedStatement("f", text, one) for one in analyse(text)])
    assert set(graph.tables) == {"t", "s"}
    assert {"v", "id", column_graph.ROWS} == set(graph.tables["t"])


def test_openlineage_events_are_such_as_the_server_reads(run: Run) -> None:
    write("sales.sql", SALES + OPEN + SALES)
    told = run("sales.sql", "-d", "postgres", "--openlineage", "postgres://h:5432").json
    events = [read(msgspec.json.encode(one)) for one in told]
    assert [event.job.name for event in events if event.job] == ["sales.sql[mart.sales]", "sales.sql[mart.sales#2]"]
    for event in events:
        assert event.kind == "job"
        assert not Projector()(event, dt.datetime.now(dt.UTC), b"0" * 16).warnings
        assert [one.name.name for one in event.inputs] == ["raw.orders", "raw.customers"]
        assert {"columnLineage"} == set(event.outputs[0].facets)
        assert json.loads(bytes(event.job_facets["sql"]))["dialect"] == "postgres"


# -- files --


def test_folders_are_read_in_order_and_nothing_twice(run: Run) -> None:
    for name in ("d/b.sql", "d/a.sql", "d/below/c.sql", "d/not.txt"):
        write(name, "SELECT 1")
    told = run("d", "d/a.sql", "--json").json
    assert [one["file"] for one in told["statements"]] == ["d/a.sql", "d/b.sql", "d/below/c.sql"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(run: Run, encoding: str) -> None:
    told = run(write("a.sql", "SELECT größe FROM t".encode(encoding)))
    assert "t.größe" in told.out


def test_bytes_that_are_not_text_are_reported(run: Run) -> None:
    told = run(write("a.sql", b"SELECT a FROM t -- gr\xf6\xdfe"))
    assert "t.a" in told.out
    assert "a.sql: byte 21 is not UTF-8" in told.err


def test_defaults_for_names_fold_as_the_dialect_does(run: Run) -> None:
    told = run("-", "-d", "snowflake", "--database", "db", "--schema", '"S"', stdin="SELECT a FROM t")
    assert "reads   DB.S.T" in told.out


# -- schemas --


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.json", '{"a.s": ["x"], "a.t": ["k", "on"]}'),
        ("s.json", '{"a.s": {"x": "int"}, "a.t": {"k": "int", "on": "text"}}'),
        ("s.yaml", "a.s: [x]\na.t: [k, on]\n"),
        ("s.yml", "a.s: {x: int}\na.t:\n  - {name: k, type: int}\n  - {name: on}\n"),
        (
            "catalog.json",
            json.dumps(
                {
                    "metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/catalog/v1.json"},
                    "nodes": {
                        "model.p.s": {
                            "metadata": {"database": "db", "schema": "a", "name": "s"},
                            "columns": {"x": {"index": 1, "name": "x"}},
                        }
                    },
                    "sources": {
                        "source.p.t": {
                            "metadata": {"database": "db", "schema": "a", "name": "t"},
                            "columns": {"k": {"index": 2, "name": "k"}, "on": {"index": 1, "name": "on"}},
                        }
                    },
                }
            ),
        ),
        (
            "manifest.json",
            json.dumps(
                {
                    "metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json"},
                    "nodes": {
                        f"model.p.{name}": {
                            "database": "db",
                            "schema": "a",
                            "name": name,
                            "config": {"contract": {"enforced": True}},
                            "columns": {column: {"name": column} for column in columns},
                        }
                        for name, columns in {"s": ["x"], "t": ["k", "on"]}.items()
                    },
                }
            ),
        ),
    ],
)
def test_schemas_settle_names_and_stars(run: Run, name: str, text: str) -> None:
    told = run("-", "--schemas", write(name, text), "--strict", "--json", stdin=OPEN)
    assert told.code == 0
    assert [one["name"] for one in told.json["statements"][0]["flows"][0]["columns"]] == ["x", "k"]


def outputs(told: Ended) -> list[str]:
    return [one["name"] for one in told.json["statements"][0]["flows"][0]["columns"]]


def test_columns_of_a_catalog_stand_by_their_index(run: Run) -> None:
    columns = {name: {"name": name, "index": index} for name, index in {"c": 3, "a": 1, "b": 2}.items()}
    node = {"metadata": {"schema": "s", "name": "t"}, "columns": columns}
    body = {"metadata": {"dbt_schema_version": "https://x/catalog/v1.json"}, "nodes": {"model.t": node}}
    assert outputs(run("-", "--json", "--schemas", write("c.json", json.dumps(body)), stdin="SELECT * FROM s.t")) == [
        "a",
        "b",
        "c",
    ]


def test_names_of_schemas_fold_as_the_dialect_does(run: Run) -> None:
    write("s.yaml", "s.t: [a]\n'\"q\".t': [a]")
    told = run("-", "-d", "snowflake", "--schemas", "s.yaml", stdin='INSERT INTO s.t SELECT a FROM "q"."t"')
    assert "writes  S.T\n" in told.out
    assert "reads   q.t\n" in told.out


def test_a_part_with_a_dot_is_in_quotes() -> None:
    assert statements.name(("a", "b.c")) == 'a."b.c"'
    assert statements.name(("s3://b/c.csv",)) == "s3://b/c.csv"


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("s.json", '{"a":\n [1,}', "s.json:2:5: "),
        ("s.yaml", "a: [x\nb: y", "s.yaml:2:2: "),
        ("s.json", '["a"]', "s.json: write tables as"),
        ("s.json", "{}", "s.json: lists no table"),
        ("s.json", '{"a.b": 3}', "s.json: a.b: columns must be a list of names or a mapping, not 3"),
        ("s.json", '{"a.b": ["x", 7]}', "s.json: a.b: column 2 must be a name, not 7"),
        ("s.json", b'{"a\xff": []}', "s.json: byte 3 is not UTF-8"),
        ("r.json", '{"metadata": {"dbt_schema_version": "https://x/run-results/v6.json"}}', "give catalog.json"),
        ("m.json", '{"metadata": {"dbt_schema_version": "https://x/manifest/v12.json"}, "nodes": {}}', "contract"),
        (
            "c.json",
            '{"metadata": {"dbt_schema_version": "https://x/catalog/v1.json"}, "nodes": {"model.a": {}}}',
            "c.json: nodes.model.a is not in dbt's format",
        ),
    ],
)
def test_unreadable_schemas_are_errors_with_their_place(run: Run, name: str, text: str | bytes, place: str) -> None:
    told = run("-", "--schemas", write(name, text), stdin="SELECT 1")
    assert told.code == 2
    assert place in told.err
    assert not told.out


def test_a_manifest_without_contracts_gives_no_schemas(run: Run) -> None:
    node = {"schema": "a", "name": "t", "columns": {"k": {"name": "k"}}, "config": {}}
    body = {"metadata": {"dbt_schema_version": "https://x/manifest/v12.json"}, "nodes": {"model.t": node}}
    assert run("-", "--schemas", write("m.json", json.dumps(body)), stdin="SELECT 1").code == 2


# -- how it ends --


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("SELECT a FROM t", 0, ""),
        (OPEN, 1, "stdin:1: k is unresolved: more than one table of unknown schema may have it\n"),
        (f"SELECT 1;\n{BROKEN}", 1, "stdin:2: "),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"], ["--mermaid"], ["--fingerprint"]])
def test_strict(run: Run, text: str, code: int, said: str, form: list[str]) -> None:
    told = run("-", "--strict", *form, stdin=text)
    assert told.code == code
    assert said in told.err
    assert run("-", *form, stdin=text).code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-", "-d", "nosuch"], "no dialect is called 'nosuch'; there are athena, bigquery"),
        (["nowhere.sql"], "nowhere.sql: no such file or folder"),
        (["."], ".: this folder has no *.sql file"),
        (["-", "--json", "--dot"], "--json and --dot exclude each other"),
        (["-", "--mermaid", "--fingerprint"], "--mermaid and --fingerprint exclude each other"),
        (["-", "--schemas", "nowhere.json"], "nowhere.json: No such file"),
    ],
)
def test_questions_that_make_no_sense(run: Run, arguments: list[str], said: str) -> None:
    told = run(*arguments, stdin="SELECT 1")
    assert told.code == 2
    assert said in told.err


def test_without_the_extra_the_command_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(NotInstalled, match=r"pip install 'headwater\[sql\]'"):
        extras.need("sql", "headwater sql")


def test_an_output_that_cannot_hold_an_arrow_gets_its_escape() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "headwater", "sql", "-"], input=b"SELECT a FROM t", capture_output=True, check=True,
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert b"\\u2190 t.a" in told.stdout


def test_output_into_a_pipe_is_plain_at_any_width() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "headwater", "sql", "-"],
        input="SELECT " + " + ".join(f"a_rather_long_name_{i}" for i in range(20)) + " AS x FROM t",
        capture_output=True, text=True, check=True, env={"COLUMNS": "40", "PYTHONPATH": ":".join(sys.path), "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert len(told.stdout.splitlines()) == 2 + 20 + 2
    assert "\x1b" not in told.stdout


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class AtOnce:
    """A timer whose second is over already."""

    daemon = False

    def __init__(self, _seconds: float, what: Callable[[], None]) -> None:
        self.start = what

    def cancel(self) -> None:
        pass

    def join(self) -> None:
        pass


@pytest.mark.parametrize(("shown", "watched"), [(True, True), (False, True), (True, False)])
def test_long_work_shows_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, shown: bool, watched: bool) -> None:
    told = Terminal() if watched else io.StringIO()
    monkeypatch.setattr(sys, "stderr", told)
    monkeypatch.setattr(threading, "Timer", AtOnce)
    monkeypatch.setenv("TERM", "xterm")
    with reading._progress(3, shown=shown) as advance:
        advance()
    assert ("1/3" in told.getvalue()) == (shown and watched)


# -- views and conventions --


def test_a_view_is_read_as_its_query_on_request(run: Run) -> None:
    text = "create view v as select a + b as c from t;\ninsert into o select c from v;"
    plain = run("-", "-d", "postgres", "--json", stdin=text).json["statements"][1]
    through = run("-", "-d", "postgres", "--json", "--through-views", stdin=text).json["statements"][1]
    assert [one["field"] for one in plain["flows"][0]["columns"][0]["inputs"]] == ["c"]
    assert [one["field"] for one in through["flows"][0]["columns"][0]["inputs"]] == ["a", "b"]
    assert [one["name"] for one in through["reads"]] == ["v", "t"]


def test_a_view_of_the_schemas_is_read_as_its_query_in_every_file(run: Run) -> None:
    write("s.yaml", "raw.t: [a, b]\nv: select a, b as c from raw.t")
    write("etl/1.sql", "insert into o select * from v")
    write("etl/2.sql", "insert into p select c from v")
    told = run("etl", "-d", "postgres", "--json", "--schemas", "s.yaml", "--through-views").json["statements"]
    inputs = [
        [
            f"{given['table']['name']}.{given['field']}"
            for column in one["flows"][0]["columns"]
            for given in column["inputs"]
        ]
        for one in told
    ]
    assert inputs == [["raw.t.a", "raw.t.b"], ["raw.t.b"]]


@pytest.mark.parametrize(
    ("convention", "text", "plain", "other"),
    [
        ("ddl-writes", "drop table t", [], ["t"]),
        ("no-shards", "insert into o select 1 as a from t$20260101", ["o"], ["o"]),
    ],
)
def test_conventions_of_other_tools(run: Run, convention: str, text: str, plain: list[str], other: list[str]) -> None:
    def names(*words: str) -> list[list[str]]:
        (one,) = run("-", "-d", "bigquery", "--json", *words, stdin=text).json["statements"]
        return [[table["name"] for table in one[key]] for key in ("reads", "writes")]

    assert names()[1] == plain
    assert names("--convention", convention)[1] == other
    assert names("--convention", convention) != names()


def test_a_column_of_the_right_side_of_except_counts_or_not(run: Run) -> None:
    text = "select a from t except select b from u"
    rows = run("-", "--json", stdin=text).json["statements"][0]["flows"][0]["rows"]
    assert "u" in {one["table"]["name"] for one in rows}
    without = run("-", "--json", "--convention", "no-except-right", stdin=text).json["statements"][0]["flows"][0][
        "rows"
    ]
    assert "u" not in {one["table"]["name"] for one in without}


def test_a_convention_that_is_none_is_refused_by_name(run: Run) -> None:
    told = run("-", "--convention", "no-such", stdin="select 1")
    assert told.code == 2
    assert "no convention is called 'no-such'" in told.err
    assert "except-right" in told.err
