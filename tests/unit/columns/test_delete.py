"""DELETE as T-SQL writes it: without FROM, with TOP, of a variable; and texts the parser itself stumbles over."""

import pytest

from headwater.columns import Level, analyse


@pytest.mark.parametrize(
    ("text", "written", "read"),
    [
        ("DELETE t WHERE a = 1", ("t",), ()),
        ("DELETE dbo.t", ("dbo", "t"), ()),
        ("DELETE #t", ("#t",), ()),
        ("DELETE TOP (10) FROM t WHERE a = 1", ("t",), ()),
        ("DELETE x FROM t x JOIN u ON u.a = x.a", ("t",), (("u",),)),
    ],
)
def test_the_table_is_the_one_named(text: str, written: tuple[str, ...], read: tuple[tuple[str, ...], ...]) -> None:
    (statement,) = analyse(text, "tsql")
    assert statement.level == Level.FULL
    assert statement.writes == (written,)
    assert statement.reads == read


def test_a_variable_that_is_a_table_is_no_exception() -> None:
    (statement,) = analyse("DELETE @t", "tsql")
    assert statement.kind == "DELETE"


@pytest.mark.parametrize("text", ["SELECT cast(", "SELECT if(", "SELECT struct(", "SELECT DATE_ADD()"])
def test_a_text_that_ends_too_early_is_a_warning(text: str) -> None:
    assert all(one.level != Level.FULL for one in analyse(text, "bigquery"))
