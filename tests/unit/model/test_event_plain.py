"""The quick reader says what the patient one says, or leaves the event to it."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.events import dataset, facet, run_event, schema

from headwater.model import event as reading

facets = st.dictionaries(
    st.sampled_from(["schema", "parentRun", " ", "x", "processingEngine"]),
    st.sampled_from([{}, {"a": 1}, None, 3, "s", []]),
    max_size=2,
)
names = st.sampled_from(["a", "", "  ", "s3a://b", "x\0y", "/p/", "é"])


@st.composite
def events(draw: Any) -> dict[str, Any]:
    def report(here: str) -> dict[str, Any]:
        return {"namespace": draw(names), "name": draw(names), "facets": draw(facets), here: draw(facets)}

    made: dict[str, Any] = {
        "eventType": draw(st.sampled_from(["START", "start", "COMPLETE", "weird", None])),
        "eventTime": draw(
            st.sampled_from(
                ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00", "2026-01-01T00:00:00.123456789+02:00", "no", 5]
            )
        ),
        "producer": draw(st.sampled_from(["p", "", None])),
        "run": {
            "runId": draw(
                st.sampled_from(["0199c0de-0000-7000-8000-000000000001", "0199C0DE000070008000000000000001", "r"])
            ),
            "facets": draw(facets),
        },
        "job": {"namespace": "n", "name": draw(names), "facets": draw(facets)},
        "inputs": [report("inputFacets") for _ in range(draw(st.integers(0, 2)))],
        "outputs": [report("outputFacets") for _ in range(draw(st.integers(0, 2)))],
    }
    for key in draw(st.lists(st.sampled_from(["eventType", "inputs", "outputs", "producer"]), max_size=2)):
        made.pop(key, None)
    return made


def _shown(event: reading.Event) -> Any:
    def plain(value: Any) -> Any:
        if isinstance(value, msgspec.Raw):
            return bytes(value)
        if isinstance(value, dict):
            return {k: plain(v) for k, v in value.items()}
        if isinstance(value, list):
            return [plain(one) for one in value]
        if isinstance(value, msgspec.Struct):
            return plain(msgspec.structs.asdict(value))
        return value

    return plain(event)


@given(events())
def test_both_say_the_same(event: dict[str, Any]) -> None:
    body = json.dumps(event).encode()
    quick = reading._read_plain(body)
    if quick is None:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_read_plain", lambda _body: None)
        assert _shown(reading.read(body)) == _shown(quick)


def test_an_ordinary_event_is_read_quickly() -> None:
    body = json.dumps(
        run_event("START", 1, "job", [dataset("/a", **schema("x"))], ["/b"], run_facets={"f": facet()})
    ).encode()
    assert reading._read_plain(body) is not None
