"""Changes are valid once they exist, and say the same facts under any spelling; tags' values fit or are refused with what fits."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import InvalidChange
from headwater.model import manual, tags
from headwater.model.identity import Identity, Rule
from headwater.model.manual import ColumnPair, DrawEdge, Link, RemoveEdge, Target
from headwater.model.tags import TagSchema, fitted

PLAIN = Identity()


def of(name: str, namespace: str = "file", field: str | None = None) -> Target:
    return Target("dataset", name, namespace, field)


JOB = Target("job", "j", "n")


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (of("/a"), "dataset:file:/a"),
        (of("/a", field="x"), "dataset:file:/a#x"),
        (JOB, "job:n:j"),
        (Target("namespace", "s3://b"), "namespace:s3://b"),
        (Target("tag", " PII "), "tag:pii"),
    ],
)
def test_targets_are_node_ids(target: Target, text: str) -> None:
    assert target.text == text
    assert target.node == text.partition("#")[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: of(""),
        lambda: of("/a", ""),
        lambda: Target("job", "j", "n", "x"),
        lambda: of("/a", field=" "),
        lambda: of("/a\0"),
        lambda: Target("namespace", " "),
        lambda: manual.Describe(Target("tag", "x"), "y"),
        lambda: manual.Describe(of("/a"), "x" * 200_000),
        lambda: manual.Own(of("/a"), " "),
        lambda: manual.Own(of("/a", field="x"), "ada"),
        lambda: manual.Hide(of("/a", field="x")),
        lambda: manual.Hide(Target("source", "x")),
        lambda: manual.Link(JOB, of("/a")),
        lambda: DrawEdge(JOB, Target("job", "k", "n")),
        lambda: DrawEdge(of("/a"), of("/a")),
        lambda: DrawEdge(of("/a", field="x"), JOB),
        lambda: DrawEdge(of("/a"), JOB, (ColumnPair("x", "y"),)),
        lambda: DrawEdge(of("/a"), of("/b"), (ColumnPair(),)),
        lambda: manual.NameNamespace("", "x"),
        lambda: manual.NameSource("x", "", "y"),
        lambda: manual.Tag(of("/a"), "x\0"),
    ],
)
def test_what_makes_no_sense_does_not_exist(make: Any) -> None:
    with pytest.raises(InvalidChange):
        make()


def test_facts_go_by_the_name_that_holds() -> None:
    identity = Identity((Rule("namespace", "s3://old", "s3://new"),))
    told = manual.Describe(of("/t/day=2026-01-01", "s3a://old"), "x")
    assert manual.facts(told, identity)[0].target.text == "dataset:s3://new:t"
    link = manual.facts(Link(of("a", "s3://old"), of("b", "s3://old")), identity)[0]
    assert link.key == "dataset:s3://new:b"
    assert link.value["id"] == str(of("b", "s3://new").id)


def test_taking_back_is_a_fact_of_the_same_identity() -> None:
    pairs: list[tuple[manual.Change, manual.Change]] = [
        (manual.Describe(of("/a"), "x"), manual.Describe(of("/a"), None)),
        (manual.Own(of("/a"), "ada", "x"), manual.Disown(of("/a"), "ada")),
        (manual.Tag(of("/a", field="x"), "PII", 1), manual.Untag(of("/a", field="x"), "pii")),
        (manual.DefineTag("PII", TagSchema()), manual.RemoveTag("pii")),
        (manual.Hide(of("/a"), (of("/b"),)), manual.Unhide(of("/a"), (of("/b"),))),
        (manual.Link(of("/a"), of("/b")), manual.Unlink(of("/a"), of("/b"))),
        (DrawEdge(of("/a"), of("/b"), (ColumnPair("x", "y"),)), RemoveEdge(of("/a"), of("/b"))),
        (DrawEdge(JOB, of("/b")), RemoveEdge(JOB, of("/b"))),
    ]
    for say, take in pairs:
        said, taken = manual.facts(say, PLAIN), manual.facts(take, PLAIN)
        assert [fact.identity for fact in said] == [fact.identity for fact in taken]
        assert {fact.deleted for fact in said} != {fact.deleted for fact in taken}


def test_between_datasets_stands_a_job_of_its_own() -> None:
    legs = manual.ends(DrawEdge(of("/a"), of("/b")), PLAIN)
    assert [(end.name, job.namespace, job.name, direction) for end, job, direction in legs] == [
        ("/a", "manual", "file:/a -> file:/b", "in"),
        ("/b", "manual", "file:/a -> file:/b", "out"),
    ]
    columns = [
        fact.value["columns"] for fact in manual.facts(DrawEdge(of("/a"), of("/b"), (ColumnPair("x", "y"),)), PLAIN)
    ]
    assert columns == [[], [["x", "y"]]]


@pytest.mark.parametrize(
    "change",
    [
        manual.Describe(of("/a", field="x"), "y"),
        manual.Tag(of("/a"), "x", True),
        manual.Tag(of("/a"), "x", 1.5),
        manual.DefineTag("x", TagSchema("enum", values=("a",))),
        manual.Hide(Target("namespace", "n"), (of("/a"), JOB)),
        DrawEdge(of("/a"), of("/b"), (ColumnPair("x"),)),
        manual.NameSource("x", "S3", "s3://x", None),
    ],
    ids=lambda change: type(change).__name__,
)
def test_a_change_is_read_as_it_was_written(change: Any) -> None:
    """The log holds JSON: what is read back is the same change, down to whether 1 is a number or true."""
    read = msgspec.json.decode(msgspec.json.encode(change), type=manual.Change)
    assert read == change
    assert manual.facts(read, PLAIN) == manual.facts(change, PLAIN)


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
SCHEMAS = [
    TagSchema(),
    TagSchema("string"),
    TagSchema("number"),
    TagSchema("boolean"),
    TagSchema("enum", values=("Low", "High")),
    TagSchema("date"),
    TagSchema("pattern", pattern="[A-Z]{2}-\\d+"),
]


@given(value=VALUES, schema=st.sampled_from(SCHEMAS))
def test_what_fits_fits_again(value: Any, schema: TagSchema) -> None:
    try:
        kept = fitted("t", schema, value, "dataset")
    except InvalidChange:
        return
    assert fitted("t", schema, kept, "dataset") == kept
    assert (kept is None) == (schema.type == "none")


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (TagSchema("number"), "nan"),
        (TagSchema("number"), True),
        (TagSchema("number"), float("inf")),
        (TagSchema("boolean"), 1),
        (TagSchema("date"), "20260131x"),
        (TagSchema("pattern", pattern="a"), "ab"),
        (TagSchema("string"), "  "),
        (TagSchema(), "x"),
    ],
)
def test_what_does_not_fit_is_refused(schema: TagSchema, value: Any) -> None:
    with pytest.raises(InvalidChange):
        fitted("t", schema, value, "dataset")


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+b",
        "(a|a)*b",
        "(a|a){30}",
        "a*a*a*a*b",
        "(a)\\1",
        "(?=a)a",
        "((a))+",
        "(?:a+)+",
        "x" * 300,
        "[",
        "a{1,3}{2}",
    ],
)
def test_a_pattern_that_could_take_long_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidChange):
        TagSchema("pattern", pattern=pattern)


@pytest.mark.parametrize(
    "pattern", ["[A-Z]{2}-\\d+", "\\w+@\\w+\\.\\w+", "(red|green)-\\d{1,3}", "a?b", "[+*]{2}", "v(?:1|2)", "\\(x\\)+"]
)
def test_a_plain_pattern_is_kept(pattern: str) -> None:
    assert TagSchema("pattern", pattern=pattern).pattern == pattern


def test_tags_are_the_same_in_any_case() -> None:
    assert tags.key_of(" Straße ") == tags.key_of("STRASSE")
