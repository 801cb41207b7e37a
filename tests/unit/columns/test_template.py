"""Templates: the SQL in them, of the same length, and what its names stand for."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.dialects.dialect import Dialect

from headwater.columns.script.template import Refusal, plain

CASES = [
    ("ref", "SELECT a FROM {{ ref('m') }}", "SELECT a FROM m", {"m": ("ref", "m")}),
    ("ref of a package", "SELECT a FROM {{ ref('p', 'm') }} x", "SELECT a FROM m x", {"m": ("ref", "p.m")}),
    ("ref of a version", "SELECT a FROM {{ ref('m', v=2) }}", "SELECT a FROM m", {"m": ("ref", "m.v2")}),
    ("source", 'SELECT a FROM {{ source("raw", "orders") }}', "SELECT a FROM orders", {"orders": ("source", "raw.orders")}),
    ("a name that is no name", "SELECT a FROM {{ ref('my-model') }}", "SELECT a FROM my_model", {"my_model": ("ref", "my-model")}),
    ("a name that is a word of SQL", "SELECT a FROM {{ ref('order') }}", "SELECT a FROM _order", {"_order": ("ref", "order")}),
    (
        "two models of one name",
        "SELECT 1 FROM {{ ref('p', 'm') }}, {{ ref('q', 'm') }}, {{ ref('p', 'm') }}",
        "SELECT 1 FROM m, m_2, m",
        {"m": ("ref", "p.m"), "m_2": ("ref", "q.m")},
    ),
    ("this", "DELETE FROM {{ this }}", "DELETE FROM this", {"this": ("this", "")}),
    ("part of this", "SELECT a FROM {{ this.schema }}.x", "SELECT a FROM this.x", {"this": ("this", "schema")}),
    ("config vanishes", "{{ config(materialized='table') }} SELECT 1", "SELECT 1", {}),
    ("a number by default", "SELECT a FROM t LIMIT {{ var('n', 10) }}", "SELECT a FROM t LIMIT 10", {}),
    ("a name by default", "SELECT a FROM {{ var('s', 'raw') }}.t", "SELECT a FROM raw.t", {"raw": ("var", "s")}),
    ("a text by default", "SELECT a FROM t WHERE d = '{{ var('d', 'x') }}'", "SELECT a FROM t WHERE d = 'x'", {}),
    ("a variable", "SELECT {{ var('n') }} FROM t", "SELECT n FROM t", {"n": ("var", "n")}),
    ("an expression", "SELECT a FROM t WHERE b = {{ params.x }}", "SELECT a FROM t WHERE b = x", {"x": ("expression", "params.x")}),
    ("in a string", "SELECT a FROM t WHERE d = '{{ ds }}'", "SELECT a FROM t WHERE d = ''", {}),
    ("in a comment", "SELECT a -- {{ it's }}\nFROM {{ ref('m') }} -- '", "SELECT a FROM m", {"m": ("ref", "m")}),
    ("a comment", "SELECT {# it's {{ no }} #} a FROM t", "SELECT a FROM t", {}),
    ("a branch", "SELECT a {% if x %}, b{% elif y %}, c{% else %}, d{% endif %} FROM t", "SELECT a, b FROM t", {}),
    (
        "an incremental run",
        "SELECT a FROM t {% if is_incremental() %} WHERE b > (SELECT MAX(b) FROM {{ this }}) {% endif %}",
        "SELECT a FROM t WHERE b > (SELECT MAX(b) FROM this)",
        {"this": ("this", "")},
    ),
    (
        "a loop with commas",
        "SELECT {% for c in cols %}{{ c }}{% if not loop.last %}, {% endif %}{% endfor %} FROM t",
        "SELECT c FROM t",
        {"c": ("expression", "c")},
    ),
    ("other turns", "SELECT {% for c in x %} {%- if loop.first %} a {% else %} b {% endif -%} {% endfor %} FROM t", "SELECT a FROM t", {}),
    ("never the first turn", "SELECT {% for c in x %} {% if not loop.first %}, b {% else %} a {% endif %} {% endfor %} FROM t", "SELECT a FROM t", {}),
    ("set", "{% set x = ['a', 'b'] %}{% set y %} it's {{ 1 }} {% endset %}SELECT a FROM t", "SELECT a FROM t", {}),
    ("macro", "{% macro f(x) %} SELECT {{ x }} it's {% endmacro %} SELECT a FROM t", "SELECT a FROM t", {}),
    ("whitespace control", "{%- if x -%} SELECT a {%- endif -%} FROM {{- ref('m') -}}", "SELECT a FROM m", {"m": ("ref", "m")}),
    ("a part of a name", "SELECT a FROM t_{{ env }}_x", "SELECT a FROM t_env_______x", {"t_env_______x": ("template", "t_{{ env }}_x")}),
    ("parts of names in a row", "SELECT {{ a }}{{ b }} FROM t", "SELECT a______b______ FROM t", {"a______b______": ("template", "{{ a }}{{ b }}")}),
    ("in a quoted name", 'SELECT a FROM "{{ s }}".t', 'SELECT a FROM "s______".t', {"s______": ("expression", "s")}),
    ("raw", "SELECT '{% raw %}{{ a }}{% endraw %}' FROM t", "SELECT '          {{ a }}             ' FROM t", {}),
    ("shell", "SELECT a FROM ${db}.t WHERE {% if x %} b = ${hiveconf:dt} {% endif %}", "SELECT a FROM db.t WHERE b = dt", {"db": ("var", "db"), "dt": ("var", "hiveconf:dt")}),
    ("shell with a default", "SELECT ${x:5} FROM t", "SELECT x FROM t", {"x": ("var", "x:5")}),
    ("sqlcmd", "SELECT ${a} FROM $(db).t", "SELECT a FROM db.t", {"a": ("var", "a"), "db": ("var", "db")}),
    ("python", "SELECT {{ a }} FROM {db}.t WHERE b = %(x)s AND c = '{d}'", "SELECT a FROM db.t WHERE b = x AND c = '{d}'", {"a": ("expression", "a"), "db": ("var", "db"), "x": ("var", "x")}),
    ("no template", "SELECT a % (b) FROM t", "SELECT a % (b) FROM t", {}),
    ("a long call over lines", "SELECT a FROM {{\n  ref('m')\n}}", "SELECT a FROM m", {"m": ("ref", "m")}),
    ("marks inside strings", "SELECT {{ f('}}') }} FROM t", "SELECT f FROM t", {"f": ("expression", "f('}}')")}),
]  # fmt: skip


def words(text: str) -> list[str]:
    return [token.text for token in Dialect.get_or_raise("postgres").tokenize(text)]


@pytest.mark.parametrize(("text", "expected", "names"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_case(text: str, expected: str, names: dict[str, tuple[str, str]]) -> None:
    found = plain(text)
    assert [word.strip() for word in words(found.text)] == [word.strip() for word in words(expected)]
    assert found.names == names
    shape(text, found.text)
    dialect = Dialect.get_or_raise("postgres")
    (tree,) = dialect.parser().parse(dialect.tokenize(found.text), found.text)
    assert tree is not None


def shape(template: str, text: str) -> None:
    """Assert that the text is as long as the template, line by line."""
    assert len(text) == len(template)
    assert [at for at, char in enumerate(text) if char == "\n"] == [
        at for at, char in enumerate(template) if char == "\n"
    ]


def test_what_was_configured() -> None:
    found = plain("{{ config(materialized='incremental', alias=\"x\", tags=['a'], unique_key='id') }}\nSELECT 1")
    assert found.config == {"materialized": "incremental", "alias": "x", "unique_key": "id"}


def test_text_around_stays_where_it_was() -> None:
    text = "SELECT a,\n  {{ f(x) }} AS b,\n  c -- it's\nFROM {{ ref('m') }} AS z"
    found = plain(text).text
    assert found.index("AS z") == text.index("AS z")
    assert found.index("c --") == text.index("c --")


@pytest.mark.parametrize(
    ("text", "refusals"),
    [
        ("SELECT 1\nFROM {{ ref(x) }}", [(2, "{{ ref(x) }}", "its name is known only when it runs")]),
        ("SELECT {{ dbt_utils.star(ref('m')) }} FROM t", [(1, "{{ dbt_utils.star(ref('m')) }}", "a macro or expression whose text is known only when it runs")]),
        ("SELECT 1\n{% if x %}", [(2, "if", "it is never ended")]),
        ("SELECT 1 {% endif %}", [(1, "{% endif %}", "it ends nothing")]),
        ("SELECT 1 {% else %}", [(1, "{% else %}", "it belongs to no block")]),
        ("SELECT 1\n\n{{ x", [(3, "{{", "it is never closed")]),
        ("{% include 'x.sql' %}", [(1, "{% include 'x.sql' %}", "text of another file")]),
        ("{% frobnicate %}", [(1, "{% frobnicate %}", "a block that is not known")]),
        ("SELECT a_{{\nx\n}}_b", [(1, "{{ x }}", "a part of a name that runs over several lines")]),
    ],
)  # fmt: skip
def test_refusals(text: str, refusals: list[tuple[int, str, str]]) -> None:
    found = plain(text)
    assert list(found.refusals) == [Refusal(*refusal) for refusal in refusals]
    shape(text, found.text)


PARTS = st.sampled_from(
    ["{{", "}}", "{%", "%}", "{#", "#}", "${", "}", "$(", ")", "%(", ")s", "if", "endif", "else", "for", "endfor", "macro", "endmacro", "set",
     "x = 1", "ref('m')", "ref(", "config(a='b')", "var('x', 'y')", "this", "'", '"', "`", "--", "/*", "*/", "\n", "_", "a", "raw", "endraw", " "]
)  # fmt: skip


@given(st.lists(PARTS, max_size=40).map("".join))
def test_never_raises_and_keeps_the_shape(text: str) -> None:
    shape(text, plain(text).text)


@given(st.text(string.ascii_letters + string.punctuation + " \n", max_size=100))
def test_any_text_keeps_its_shape(text: str) -> None:
    shape(text, plain(text).text)


@pytest.mark.parametrize(
    "part", ["{{ x }} ", "{{ x }}", "{{ x ", "{{'", "{% if x %}", "{% endif %}", "${", "'{{ x }}' ", "{x}_", "{# "]
)
def test_long_templates(part: str) -> None:
    text = part * 10_000
    shape(text, plain(text).text)
