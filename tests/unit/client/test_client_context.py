"""The parent handed down in the environment."""

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.client import context

RUN = "01927f2e-8c7a-7aaa-bbbb-1234567890ab"
ROOT = "01927f2e-0000-7aaa-bbbb-1234567890ab"
names = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1)
plain = names.filter(lambda text: "/" not in text and text.strip() == text)


@given(namespace=names, name=names, root_name=names)
def test_what_is_handed_down_is_read_back(namespace: str, name: str, root_name: str) -> None:
    parent = context.Parent(RUN, namespace, name, ROOT, "root ns", root_name)
    assert context.parent(context.environment(parent)) == parent


@given(namespace=names.filter(lambda text: text.strip() == text), name=plain)
def test_the_older_spelling_is_read_back_with_slashes_in_the_namespace(namespace: str, name: str) -> None:
    parent = context.Parent(RUN, namespace, name, ROOT, namespace, name)
    given_down = context.environment(parent)
    del given_down["OPENLINEAGE_CONTEXT"]
    assert context.parent(given_down) == parent


def test_a_parent_without_a_root_is_its_own_root() -> None:
    document = {"parent": {"run": {"runId": RUN}, "job": {"namespace": "s3://b/x", "name": "j"}}}
    expected = context.Parent(RUN, "s3://b/x", "j", RUN, "s3://b/x", "j")
    assert context.parent({"OPENLINEAGE_CONTEXT": json.dumps(document)}) == expected
    assert context.parent({"OPENLINEAGE_PARENT_ID": f"s3://b/x/j/{RUN}"}) == expected


def test_a_child_keeps_the_root() -> None:
    top = context.own(ROOT, ("a", "top"))
    assert context.own(RUN, ("a", "low"), top) == context.Parent(RUN, "a", "low", ROOT, "a", "top")


def test_nothing_set_is_no_parent_and_no_line(caplog: pytest.LogCaptureFixture) -> None:
    assert context.parent({}) is None
    assert context.parent({"OPENLINEAGE_CONTEXT": "", "OPENLINEAGE_PARENT_ID": " "}) is None
    assert caplog.records == []


@pytest.mark.parametrize(
    ("environ", "variable"),
    [
        ({"OPENLINEAGE_CONTEXT": "{"}, "OPENLINEAGE_CONTEXT"),
        ({"OPENLINEAGE_CONTEXT": "[]"}, "OPENLINEAGE_CONTEXT"),
        (
            {"OPENLINEAGE_CONTEXT": '{"parent":{"run":{"runId":"x"},"job":{"namespace":"a","name":"b"}}}'},
            "OPENLINEAGE_CONTEXT",
        ),
        ({"OPENLINEAGE_PARENT_ID": "a/b"}, "OPENLINEAGE_PARENT_ID"),
        ({"OPENLINEAGE_PARENT_ID": "a/b/not-a-uuid"}, "OPENLINEAGE_PARENT_ID"),
        ({"OPENLINEAGE_PARENT_ID": f"a/b/{RUN}", "OPENLINEAGE_ROOT_PARENT_ID": "zzz"}, "OPENLINEAGE_ROOT_PARENT_ID"),
    ],
)
def test_a_bad_value_is_one_line(environ: dict[str, str], variable: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "headwater"):
        assert context.parent(environ) is None
    assert len(caplog.records) == 1
    assert caplog.records[0].getMessage().startswith(f"{variable} is not usable")
