"""CSV that a spreadsheet runs nothing of, and that any reader of RFC 4180 reads back."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.cli.comma_separated import cell, lines


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""), (True, "true"), (0, "0"), (-5, "-5"), (-0.5, "-0.5"), (1e16, "1e+16"), ("", ""), ("a", "a"), ("a=b", "a=b"),
        ("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@SUM(A1)", "'@SUM(A1)"), ("\t=1", "'\t=1"), ("\r=1", "'\r=1"), ("\n=1", "'\n=1"),
        ("  =1", "'  =1"), ("\ufeff=1", "'\ufeff=1"), ("＝1", "'＝1"), (["=a", "b"], "'=a; b"), (["b", "=a"], "b; =a"), ("a\0b", "a�b"),
    ],
)  # fmt: skip
def test_a_cell(value: object, expected: str) -> None:
    assert cell(value) == expected


def test_lines_end_with_cr_lf_and_quote_what_must_be() -> None:
    assert (
        lines(("a", "b"), [("x,y", 'say "hi"'), ("two\nlines", None)])
        == 'a,b\r\n"x,y","say ""hi"""\r\n"two\nlines",\r\n'
    )


@given(
    st.lists(
        st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=2, max_size=2),
        max_size=5,
    )
)
def test_what_is_written_is_read(rows: list[list[str]]) -> None:
    found = list(csv.reader(io.StringIO(lines(("a", "b"), rows), newline="")))
    assert found == [["a", "b"], *[[cell(one) for one in row] for row in rows]]
    for row in found[1:]:
        assert not any(one.lstrip(" \xa0\u3000\ufeff")[:1] in set("=+-@\t\r\n＝＋－＠") for one in row if one)
