"""Changes of schemas as changes of the tables in them."""

from typing import Any

import pytest

from headwater.pipeline.query_log.schema_moves import moves


def row(text: str) -> dict[str, Any]:
    """`created a.t`, `schema_renamed a b`; with `?` a statement that may not have run, with `if` a conditional one."""
    action, name, *more = text.split()
    other = next((one for one in more if one not in {"?", "if"}), None)
    return {
        "name": name,
        "action": action,
        "other": other,
        "branch": "?" in more or None,
        "conditional": "if" in more or None,
    }


CASES = {
    "a table that was made": (["created a.t", "schema_renamed a b"], ["renamed_to a.t b.t", "renamed_from b.t a.t"]),
    "a table that was used before": (["there a.t", "schema_renamed a b"], ["renamed_to a.t b.t", "renamed_from b.t a.t"]),
    "a table that is used after": (["schema_renamed a b", "there b.t"], ["renamed_to a.t b.t", "renamed_from b.t a.t"]),
    "a table that is made after": (["schema_renamed a b", "created b.t", "there b.t"], []),
    "a table that is used after two renamings": (
        ["schema_renamed a b", "schema_renamed b c", "there c.t"],
        ["renamed_to a.t b.t", "renamed_from b.t a.t", "renamed_to b.t c.t", "renamed_from c.t b.t"],
    ),
    "a table that was dropped": (["created a.t", "dropped a.t", "schema_renamed a b"], []),
    "a table of another schema": (["created aa.t", "created x.a.t", "schema_renamed a b"], []),
    "a new schema of the old name": (["created a.t", "schema_renamed a b", "created a.t", "schema_dropped a"],
        ["renamed_to a.t b.t", "renamed_from b.t a.t", "dropped a.t"]),
    "a schema that is dropped and undropped": (["created a.t", "schema_dropped a", "schema_undropped a", "schema_renamed a b"],
        ["dropped a.t", "undropped a.t", "renamed_to a.t b.t", "renamed_from b.t a.t"]),
    "two schemas that are swapped": (["created a.t", "created b.t", "created b.u", "schema_swapped a b"],
        ["swapped a.t b.t", "renamed_from a.u b.u", "swapped b.t a.t", "renamed_to b.u a.u"]),
    "a table that may be there": (["created a.t ?", "schema_renamed a b"], ["renamed_to a.t b.t ?", "renamed_from b.t a.t ?"]),
    "a table that may be gone": (["created a.t", "dropped a.t ?", "schema_dropped a"], ["dropped a.t ?"]),
    "a renaming that may not have been": (["created a.t", "schema_renamed a b ?"], ["renamed_to a.t b.t ?", "renamed_from b.t a.t ?"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_moves(name: str) -> None:
    given, expected = CASES[name]
    found = [
        " ".join(filter(None, (one["action"], one["name"], one["other"], "?" if one["branch"] else "")))
        for one in moves([row(text) for text in given])
    ]
    assert sorted(found) == sorted(expected)
