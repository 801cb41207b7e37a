"""Scripts cut into pieces: cases over the dialects, and laws that hold for any text."""

import itertools
import logging
import string
from pathlib import Path

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from tests.scale import full, suite_takes

from headwater.columns.script.piece import Piece
from headwater.columns.script.pieces import pieces

CASES = Path(__file__).parents[2] / "cases" / "columns" / "script"
DIALECTS = [
    "",
    "postgres",
    "redshift",
    "snowflake",
    "bigquery",
    "tsql",
    "oracle",
    "mysql",
    "hive",
    "spark",
    "databricks",
    "teradata",
]
TEXT_ROLES = ("statement", "query")


class Expected(msgspec.Struct, forbid_unknown_fields=True):
    statement: str | None = None
    query: str | None = None
    dynamic: str | None = None
    procedure: str | None = None
    call: str | None = None
    unreadable: str | None = None
    within: str = msgspec.field(default="", name="in")
    vars: list[str] | None = None
    gives: list[str] = []
    reason: str | None = None
    command: bool = False

    @property
    def role(self) -> tuple[str, str]:
        return next((name, value) for name in ROLES if (value := getattr(self, name)) is not None)


ROLES = ("statement", "query", "dynamic", "procedure", "call", "unreadable")


class Case(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    dialect: str
    text: str
    pieces: list[Expected]


def cases() -> list[Case]:
    found = [case for path in sorted(CASES.glob("*.yaml")) for case in yaml.safe_load(path.read_text())]
    return msgspec.convert(found, list[Case])


ALL = cases()


def words(text: str, dialect: str) -> list[str]:
    """Token by token, so that layout does not matter."""
    tokenizer = Dialect.get_or_raise(dialect).tokenizer()
    tokenizer._core.commands = set()
    return [token.text for token in tokenizer.tokenize(text)]


def shown(case: Case) -> list[Piece]:
    """The pieces that are statements of the text: values of variables are told by what is made of them (classes.yaml)."""
    return [piece for piece in pieces(case.text, case.dialect) if piece.role not in ("value", "unknown")]


def told(piece: Piece) -> str:
    if piece.role in TEXT_ROLES:
        return " ".join(token.text for token in piece.tokens)
    return piece.name if piece.role in ("procedure", "call") else piece.reason


def test_there_are_cases() -> None:
    assert len(ALL) >= 80
    assert len({(case.dialect, case.name) for case in ALL}) == len(ALL)


@pytest.mark.parametrize("case", ALL, ids=[f"{case.dialect}-{case.name}" for case in ALL])
def test_case(case: Case) -> None:
    found = shown(case)
    expected = []
    for wanted in case.pieces:
        role, value = wanted.role
        expected.append((role, " ".join(words(value, case.dialect)) if role in TEXT_ROLES else value, wanted.within))
    given = [(piece.role, told(piece), piece.within) for piece in found]
    for at, (role, value, _) in enumerate(expected):
        if role == "unreadable" and at < len(given) and value in given[at][1]:
            expected[at] = given[at]
    assert given == expected
    for piece, wanted in zip(found, case.pieces, strict=True):
        assert wanted.vars is None or piece.variables == set(wanted.vars), told(piece)
        assert piece.role not in TEXT_ROLES or list(piece.assigns) == wanted.gives, told(piece)
        assert piece.reason == (
            wanted.reason or (told(piece) if piece.role in ("dynamic", "unreadable") else piece.reason)
        )


@pytest.mark.parametrize("case", ALL, ids=[f"{case.dialect}-{case.name}" for case in ALL])
def test_pieces_parse(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    dialect = Dialect.get_or_raise(case.dialect)
    for piece, wanted in zip(shown(case), case.pieces, strict=True):
        if piece.role in TEXT_ROLES:
            (tree,) = dialect.parser().parse(piece.tokens, piece.text)
            assert isinstance(tree, exp.Command) == wanted.command, told(piece)


@pytest.mark.parametrize("case", ALL, ids=[f"{case.dialect}-{case.name}" for case in ALL])
def test_places(case: Case) -> None:
    """A piece stands where it says, and its tokens where its text says."""
    found = pieces(case.text, case.dialect)
    lawful(case.text, found)
    for piece in found:
        if piece.role in TEXT_ROLES and piece.tokens:
            assert piece.line <= case.text.count("\n") + 1
            token = piece.tokens[0]
            if piece.text == case.text and token.text != "SELECT":
                assert piece.text.startswith(token.text, token.start)
                assert piece.start == token.start
                assert piece.line == case.text.count("\n", 0, token.start) + 1, told(piece)


def lawful(text: str, found: list[Piece]) -> None:
    for piece in found:
        assert 0 <= piece.start <= piece.end <= len(text)
        assert piece.line >= 1
        assert type(piece.tokens) is list
    for one, next_ in itertools.pairwise(found):
        assert one.start <= next_.start


WORDS = st.sampled_from(
    [
        "SELECT",
        "INSERT",
        "INTO",
        "UPDATE",
        "DELETE",
        "FROM",
        "MERGE",
        "USING",
        "WITH",
        "AS",
        "(",
        ")",
        ";",
        ",",
        ".",
        "@",
        ":",
        ":=",
        "=",
        "+",
        "||",
        "'a'",
        "'SELECT",
        "1'",
        '"',
        "'",
        "$$",
        "$x$",
        "--",
        "/*",
        "*/",
        "BEGIN",
        "END",
        "IF",
        "THEN",
        "ELSE",
        "ELSIF",
        "CASE",
        "WHEN",
        "LOOP",
        "WHILE",
        "DO",
        "FOR",
        "IN",
        "REPEAT",
        "UNTIL",
        "DECLARE",
        "CURSOR",
        "SET",
        "LET",
        "RETURN",
        "CREATE",
        "ALTER",
        "PROCEDURE",
        "FUNCTION",
        "TRIGGER",
        "PACKAGE",
        "BODY",
        "TASK",
        "MACRO",
        "IS",
        "LANGUAGE",
        "sql",
        "python",
        "EXECUTE",
        "IMMEDIATE",
        "EXEC",
        "sp_executesql",
        "CALL",
        "PREPARE",
        "OPEN",
        "FETCH",
        "GO",
        "\nGO\n",
        "\n/\n",
        "\n",
        "DELIMITER",
        "//",
        "TRY",
        "CATCH",
        "TRAN",
        "EXCEPTION",
        "PERFORM",
        "QUERY",
        "FORALL",
        "BULK",
        "COLLECT",
        "x",
        "y",
        "t",
        "1",
        "<<",
        ">>",
        "[",
        "]",
        "UNION",
        "ALL",
        "VALUES",
        "GRANT",
        "TRUNCATE",
        "COMPOUND",
        "EACH",
        "ROW",
        "ATOMIC",
        "HANDLER",
        "NOT",
        "FOUND",
        "SQLSTATE",
        "TABLE",
        "VARIABLE",
        "RESULTSET",
        "CONCAT",
        "\\",
        "\\.",
    ]
)


@given(st.lists(WORDS, max_size=60).map(" ".join), st.sampled_from(DIALECTS))
def test_never_raises_on_words(text: str, dialect: str) -> None:
    lawful(text, pieces(text, dialect))


@given(st.text(max_size=80), st.sampled_from(DIALECTS))
def test_never_raises_on_text(text: str, dialect: str) -> None:
    lawful(text, pieces(text, dialect))


NAME = st.text(string.ascii_lowercase, min_size=3, max_size=6).map(lambda name: f"n_{name}")
SIMPLE = st.one_of(
    st.builds("SELECT {0} FROM {1} WHERE {0} = ';'".format, NAME, NAME),
    st.builds("INSERT INTO {0} (a) SELECT a FROM {1}".format, NAME, NAME),
    st.builds("UPDATE {0} SET a = 'BEGIN' WHERE b = 2".format, NAME),
    st.builds("DELETE FROM {0} WHERE a = CASE WHEN b = 1 THEN 2 ELSE 3 END".format, NAME),
    st.builds("CREATE TABLE {0} AS SELECT a FROM {1}".format, NAME, NAME),
    st.builds("WITH {0} AS (SELECT a FROM {1}) SELECT a FROM {0}".format, NAME, NAME),
)


@given(st.lists(SIMPLE, min_size=1, max_size=8), st.sampled_from(DIALECTS))
def test_simple_statements_come_back(statements: list[str], dialect: str) -> None:
    text = ";\n".join(statements)
    assert [text[piece.start : piece.end] for piece in pieces(text, dialect)] == statements
    assert [piece.line for piece in pieces(text, dialect)] == list(range(1, len(statements) + 1))


@given(st.lists(SIMPLE, min_size=1, max_size=8), st.sampled_from(DIALECTS))
def test_a_block_changes_nothing(statements: list[str], dialect: str) -> None:
    text = "BEGIN\n" + ";\n".join(statements) + ";\nEND;"
    assert [text[piece.start : piece.end] for piece in pieces(text, dialect)] == statements


@given(st.lists(SIMPLE, min_size=1, max_size=8))
def test_transact_needs_no_semicolons(statements: list[str]) -> None:
    text = "\n".join(statements)
    assert [text[piece.start : piece.end] for piece in pieces(text, "tsql")] == statements


@given(st.lists(SIMPLE, min_size=1, max_size=5), st.sampled_from(["snowflake", "postgres"]))
def test_a_body_in_quotes_reads_as_one_in_dollars(statements: list[str], dialect: str) -> None:
    body = "BEGIN " + "; ".join(statements) + "; END"
    head = "CREATE PROCEDURE p() RETURNS INT LANGUAGE " + ("SQL" if dialect == "snowflake" else "plpgsql") + " AS "
    quoted = pieces(head + "'" + body.replace("'", "''") + "'", dialect)
    dollars = pieces(head + "$$" + body + "$$", dialect)
    assert [told(piece) for piece in quoted] == [told(piece) for piece in dollars]
    assert [piece.text[piece.tokens[0].start : piece.tokens[-1].end + 1] for piece in quoted[1:]] == statements
    text = head + "$$" + body + "$$"
    assert [text[piece.start : piece.end] for piece in dollars[1:]] == statements


@pytest.mark.parametrize("dialect", suite_takes(DIALECTS, ["postgres", "tsql"]))
def test_long_scripts(dialect: str) -> None:
    count = full(10_000, 1_000)
    text = "INSERT INTO t (a) SELECT a FROM u;\n" * count
    assert len(pieces(text, dialect)) == count
    assert len(pieces("BEGIN\n" + text + "END;", dialect)) == count


@pytest.mark.parametrize("dialect", suite_takes(DIALECTS, ["postgres", "tsql"]))
def test_deep_blocks(dialect: str) -> None:
    found = pieces("BEGIN " * 5_000 + "SELECT 1;" + "END; " * 5_000 + "SELECT 2;", dialect)
    assert [told(piece) for piece in found] == ["SELECT 1", "SELECT 2"]


def test_strings_of_sql_end_somewhere() -> None:
    text = "SELECT 1"
    for _ in range(12):
        text = "EXECUTE IMMEDIATE '" + text.replace("'", "''") + "'"
    found = pieces(text, "oracle")
    assert [piece.reason for piece in found][-1] == "SQL in strings nested too deep"


def test_an_unknown_dialect_is_plain_sql() -> None:
    assert [told(piece) for piece in pieces("SELECT 1; SELECT 2", "klingon")] == ["SELECT 1", "SELECT 2"]


def test_unreadable_text_names_its_line() -> None:
    text = "SELECT 1;\n\nSELECT 'x;\nSELECT 2"
    with pytest.raises(TokenError):
        Dialect.get_or_raise("postgres").tokenize(text)
    assert [(piece.role, piece.line) for piece in pieces(text, "postgres")] == [
        ("statement", 1),
        ("unreadable", 3),
        ("statement", 4),
    ]
