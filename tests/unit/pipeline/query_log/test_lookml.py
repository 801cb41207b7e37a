"""LookML: reading a project, and hostile files."""

import random
import time
from pathlib import Path

import pytest

from headwater.errors import UnreadableContent
from headwater.pipeline.query_log.who.lookml import (
    LARGEST,
    Block,
    Project,
    asset_names,
    dashboards,
    parsed,
    read,
    tables,
)

CASE = Path(__file__).parents[3] / "cases" / "query_log" / "lookml"
HERE = Path("x.model.lkml")


def project(folder: Path, **files: str) -> Project:
    """`files`: names, with `__` for a dot, and what they hold."""
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return read(sorted(folder.iterdir()))


@pytest.fixture(scope="module")
def shop() -> Project:
    return read(sorted(path for path in CASE.rglob("*") if path.is_file()))


def test_names_of_assets(shop: Project) -> None:
    assert asset_names(shop) == {
        "dashboard/shop::returns%2F2026": "Returns",
        "dashboard/shop::sales": "Sales of Acme",
        "explore/shop::orders": "Orders of Acme",
        "explore/shop::recent": "Recent orders",
    }


def test_tables_that_explores_ask(shop: Project) -> None:
    # `latest` is no table, and nothing is called so.
    assert tables(shop) == {
        *("acme.shop.orders", "dev.customers", "acme.shop.customers", "payments", "shop.payments"),
        *("latest", "shop.refunds", "Shop.Days"),
    }


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ("", {"o"}),
        ("view: p { sql_table_name: no ;; }", {"o"}),
        ("view: o {} view: +o { sql_table_name: s.t ;; }", {"s.t"}),
        ("view: o { extends: [p] } view: p { extends: [q, o] } view: q { sql_table_name: s.q ;; }", {"s.q"}),
        ("view: o { extends: [p] sql_table_name: s.o ;; } view: p {}", {"s.o"}),
        ("view: o { sql_table_name: `a-b.c.events_*` ;; }", {"a-b.c.events_*"}),
        ("view: o { sql_table_name: [a-b:c.d] ;; }", {"a-b.c.d"}),
        ('view: o { sql_table_name: "A b"."C" . [d] ;; }', {"A b.C.d"}),
        ("view: o { sql_table_name: {{ _user_attributes['s'] }}.t_{% parameter p %} ;; }", {"*.t_*"}),
        ("view: o { sql_table_name: {% if p._is_filtered %} a.b {% else %} a.c {% endif %} ;; }", {"a.b", "a.c"}),
        ("view: o { sql_table_name: @{nobody_knows}.t ;; }", {"*.t"}),
        ("view: o { sql_table_name: {% if p %} a {% else %} b {% endif %}.t ;; }", {"a", "b", "t"}),
        ("view: o { sql_table_name: {{ x }} ;; }", set()),
        ("view: o { sql_table_name: {{ x ;; }", set()),
        ("view: o { sql_table_name: (select * from a.b) ;; }", {"a.b"}),
        ("view: o { sql_table_name: ${p.SQL_TABLE_NAME} ;; } view: p { sql_table_name: s.p ;; }", {"s.p"}),
        ("view: o { derived_table: { explore_source: e { column: a {} } } }", set()),
        ("view: o { derived_table: { sql: select 1 -- from a\n /* from b */ ;; } }", set()),
        (
            "view: o { derived_table: { sql: select 1 FROM\n a.b AS x, c y ,d left join e on 1 /* from z ;; } }",
            set("cde") | {"a.b"},
        ),
        ("view: o { derived_table: { sql: select 1 from ${p.SQL_TABLE_NAME} x, b ;; } } view: p {}", {"p", "b"}),
        ("view: o { derived_table: { sql: select 1 from a where {% condition f %} b {% endcondition %} ;; } }", {"a"}),
        (
            "view: o { derived_table: { create_process: { sql_step: insert into x select 1 from a ;; sql_step: select 1 from b ;; } } }",
            {"a", "b"},
        ),
    ],
)
def test_tables_of_a_view(tmp_path: Path, view: str, expected: set[str]) -> None:
    assert tables(project(tmp_path, m__model__lkml="explore: o {}", o__view__lkml=view)) == expected


def test_only_what_an_explore_asks(tmp_path: Path) -> None:
    explores = (
        "explore: e { from: a join: b { from: c } join: d { sql: join x.y on 1 ;; } } explore: +e { view_name: f }"
    )
    found = project(tmp_path, m__model__lkml=explores, v__view__lkml="view: b { sql_table_name: no ;; }")
    assert tables(found) == {"a", "c", "d", "x.y", "f"}
    assert tables(read([])) == set()


@pytest.mark.parametrize(
    "sql",
    ["{%", "{{", "/*", "from [", "from a,", 'from "', "from a. ", "${a.", "@{", "from ", "a ", "--", "from a as "],
)
def test_sql_takes_time_by_its_size(tmp_path: Path, sql: str) -> None:
    begin = time.process_time()
    for key in ("sql_table_name: {} ;;", "derived_table: {{ sql: {} ;; }}"):
        tables(
            project(tmp_path, m__model__lkml="explore: o {}", o__view__lkml=f"view: o {{ {key.format(sql * 50_000)} }}")
        )
    assert time.process_time() - begin < 10


def test_what_a_model_holds(shop: Project) -> None:
    ((_, model),) = [one for one in shop.files if one[0] == "shop"]
    assert (model.values["connection"], model.values["week_start_day"]) == ("warehouse", "monday")
    assert [(block.key, block.name) for block in model.blocks] == [
        ("datagroup", "nightly"),
        ("access_grant", "finance"),
        ("explore", "orders"),
        ("explore", "recent"),
        ("explore", "+recent"),
    ]
    datagroup, grant, orders, recent, _ = model.blocks
    assert datagroup.values == {"sql_trigger": "SELECT max(id) FROM etl.runs", "max_cache_age": "24 hours"}
    assert grant.lists == {"allowed_values": ["finance", "board"]}
    assert orders.values["description"] == 'Every order. "Gross"; it\'s { not } # net'
    assert orders.values["sql_always_where"] == "${orders.status} <> 'test' -- not # a comment\n    AND '}' <> '{'"
    assert orders.blocks[0].lists["filters"] == ["orders.created_date:", "7 days", "customers.country:", "-NULL"]
    assert [(join.name, join.values.get("from")) for join in orders.of("join")] == [
        ("customers", None),
        ("buyers", "customers"),
    ]
    assert recent.blocks[0].lists == {"fields": ["payments.amount", "-payments.id*"]}


def test_a_name_that_two_claim_is_none(tmp_path: Path) -> None:
    board = "- dashboard: sales\n  title: {}\n  elements: [{{model: {}}}]\n"
    found = project(
        tmp_path,
        a__model__lkml='explore: o { label: "O of a" }',
        b__model__lkml='explore: o { label: "O of b" }',
        both__explore__lkml='explore: o { label: "of all" } explore: p { label: "P" }',
        one__dashboard__lookml=board.format("One", "a"),
        two__dashboard__lkml=board.format("Two", "b"),
        any__dashboard__lookml="dashboard: sales\ntitle: Any\n",
        more__dashboard__lookml="- {dashboard: x, title: X}\n- {dashboard: x, title: Y}\n- {dashboard: y}\n- z\n- {title: T}",
        README__md="view: {",
        old__view__lookml="- view: [",
    )
    # Elements say the model; where they do not it may be any, and what is surer wins.
    assert asset_names(found) == {
        "dashboard/a::sales": "One",
        "dashboard/b::sales": "Two",
        "explore/a::o": "O of a",
        "explore/a::p": "P",
        "explore/b::o": "O of b",
        "explore/b::p": "P",
    }
    assert asset_names(read([])) == {}


def test_a_constant_that_is_not_known_stays(tmp_path: Path) -> None:
    found = project(
        tmp_path, m__model__lkml='explore: o { label: "@{a}@{b}@{" }', manifest__lkml='constant: a { value: "@{b}" }'
    )
    assert asset_names(found) == {"explore/m::o": "@{b}@{b}@{"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("view: a {\n\n", r"x\.model\.lkml:3: view a has no } at its end"),
        ("view: a {\n sql: x ;\n}", r":2: sql has no ;; at its end"),
        ('view: a {\n label: "x\n}', r":2: label has no value"),
        ("view: a {\n label: }", r":2: label has no value"),
        ("view: a {}\n}", r":2: a key and a colon are expected, not '}'"),
        ("view a {}", r":1: a key and a colon are expected, not 'view a {}'"),
        ("fields: [a, b\n", r":1: a list has no \]"),
        ("fields: [a, {b}]", r":1: a list has no \]"),
        ("# c\nfields: [a, [b]]", r":2: a list has no \]"),
        ("\x00", r":1: a key and a colon"),
        ("a:", r":1: a has no value"),
        ("a: {" * 51, r":1: blocks are nested deeper than 50"),
        ("a: {" * 300_000, r":1: blocks are nested deeper"),
        ("sql: " * 300_000, r":1: sql has no ;;"),
        ("a: [" * 300_000, r":1: a list has no \]"),
        ('a: "' + "\\" * 1_000_001, r":1: a has no value"),
        ("a" * 1_000_000, r":1: a key and a colon"),
        ("a" + " " * 1_000_000, r":1: a key and a colon"),
        ("#\n,\n" * 300_000 + "}", r":600001: a key"),
        ("a: " + "@{" * 500_000, r":1: a key|:1: a has no value"),
    ],
)
def test_what_is_no_lookml_is_said_with_its_line(text: str, words: str) -> None:
    begin = time.process_time()
    with pytest.raises(UnreadableContent, match=words):
        parsed(text, HERE)
    assert time.process_time() - begin < 5


def test_many_small_things_take_time_by_their_size() -> None:
    begin = time.process_time()
    text = 'dimension: a { sql: x ;; tags: ["a"] label: "l" }\n' * 20_000
    assert len(parsed(text, HERE).blocks) == 20_000
    assert time.process_time() - begin < 10


def test_depth_that_is_allowed() -> None:
    assert parsed("a: {" * 50 + "}" * 50, HERE).blocks[0].blocks[0].blocks
    assert parsed("", HERE) == parsed(" # nothing", HERE) == Block()


def test_whatever_is_cut_or_turned_is_read_or_refused() -> None:
    """A bug would be another error, or no end."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(CASE.rglob("*.lkml")))
    luck = random.Random(7)
    refused: list[int] = []
    for _ in range(400):
        at, length = luck.randrange(len(text)), luck.randrange(60)
        put = "".join(luck.choice('{}[]":;#@\\ab \n') for _ in range(luck.randrange(4)))
        try:
            parsed(text[:at] + put + text[at + length :], HERE)
        except UnreadableContent as error:
            refused.append(int(str(error.detail["line"])))
    assert 1 <= min(refused) <= max(refused) <= text.count("\n") + 5
    assert 50 < len(refused) < 400


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("- dashboard: a\n  title: [", 2),
        ("- dashboard: a\n  title: @{x}", 2),
        ("[" * 100_000, 1),
        ("\x00", 1),
        ("? [a]\n: b", 1),
    ],
)
def test_dashboards_that_cannot_be_read(text: str, line: int) -> None:
    with pytest.raises(UnreadableContent, match=rf"x\.dashboard\.lookml:{line}: "):
        dashboards(text, Path("x.dashboard.lookml"))


@pytest.mark.parametrize(
    "text",
    ["", "7", "- 7", "- {dashboard: [a]}", "- {dashboard: {a: b}}", "!!python/object/apply:os.system [exit]"],
)
def test_yaml_that_is_no_dashboard(text: str) -> None:
    assert dashboards(text, Path("x.dashboard.lookml")) == []


def test_dashboards_are_texts_whatever_they_look_like() -> None:
    text = "- {dashboard: 12, title: 2026-13-45, elements: [7, {model: no}, {model: [x]}]}"
    (found,) = dashboards(text, Path("x.dashboard.lookml"))
    assert (found.name, found.title, found.models) == ("12", "2026-13-45", {"no"})
    # Aliases of aliases are nested lists, which must not be walked.
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{at}: &a{at} [*a{at - 1}, *a{at - 1}]\n" for at in range(1, 60))
    assert dashboards(f"{bomb}dashboard: b\ntitle: B\nelements: *a59", Path("x"))[0].title == "B"


def test_files(tmp_path: Path) -> None:
    large, binary = tmp_path / "large.view.lkml", tmp_path / "binary.view.lkml"
    large.write_bytes(b" " * (LARGEST + 1))
    binary.write_bytes(b"\xff\xfe")
    for path in (large, binary, tmp_path / "none.view.lkml"):
        with pytest.raises(UnreadableContent, match=path.name):
            read([path])
    (tmp_path / "mark.model.lkml").write_bytes(b'\xef\xbb\xbfexplore: a {\r\n label: "A"\r\n}\r\n')
    assert asset_names(read([tmp_path / "mark.model.lkml"])) == {"explore/mark::a": "A"}
