"""Addresses that Marquez's Java client can parse. The expected values were compared with those of `java.net` (Java 17)."""

import pytest

from headwater.answer.marquez import addresses


@pytest.mark.parametrize(
    "text",
    ["https://git.example.org/x", "http://[::1]:80/", "file:/opt/x.py", "FTP://h/x", "mailto:a@b", "http://h:/x"],
)
def test_an_address_with_a_protocol_of_java_stays(text: str) -> None:
    assert addresses.url(text) == text


@pytest.mark.parametrize(
    "text",
    [None, "", "git@github.com:o/r.git", "s3://b/x.py", "dbfs:/x", "/local/x.py", "not a url", "http://[x", "http://h:port",
     "http://h:99999999999/", "mailto:", "http://\tx/"],
)  # fmt: skip
def test_other_text_is_no_address(text: str | None) -> None:
    assert addresses.url(text) is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("s3://bucket", "s3://bucket"),
        ("jdbc:h2:mem:x", "jdbc:h2:mem:x"),
        ("host:5432", "host:5432"),
        ("jdbc:sqlserver://h:1433;database=a", "jdbc:sqlserver://h:1433;database=a"),
        ("10.0.0.1:5432", "http://10.0.0.1:5432"),
        ("postgres://u@h:1/d b", "postgres://u@h:1/d%20b"),
        ("{host}", "%7Bhost%7D"),
        ("snowflake://a%zz", "snowflake://a%25zz"),
        ("s3://é", "s3://%C3%A9"),
        ("a#b#c", "a%23b%23c"),
        ("://x", "http://://x"),
    ],
)
def test_a_source_has_a_uri(text: str, shown: str) -> None:
    assert addresses.uri(text) == shown
