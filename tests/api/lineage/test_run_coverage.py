"""The coverage of a run: counts and reasons in the answer, and in words."""

from typing import Any

import pytest
from tests.events import RUN, encoded, facet, run_event

from headwater.answer.lineage.run_coverage import read_coverage

LINEAGE = "/api/v1/lineage"


def test_the_answer_counts_and_says(client: Any) -> None:
    found = facet(
        reads=5,
        traced=3,
        throughFunction=1,
        notSeen=1,
        reasons=[{"what": "an RDD (JDBCRDD)", "why": "it reads something else than files"}],
        limits=["only 200 RDDs were followed; 7 or more were not"],
        written=1,
    )
    event = run_event("COMPLETE", 1, "nightly", run_facets={"headwater_coverage": found})
    assert client.post(LINEAGE, encoded(event)).status_code == 201
    covered = client.get(f"/api/v2/runs/{RUN.format(1)}").json()["coverage"]
    assert (covered["reads"], covered["traced"], covered["through_function"], covered["not_seen"]) == (5, 3, 1, 1)
    assert covered["limits"] == ["only 200 RDDs were followed; 7 or more were not"]
    assert covered["summary"] == (
        "3 of 5 reads traced with columns; 1 through a function; 1 not seen, because an RDD (JDBCRDD): it reads something else than files"
    )


def test_a_run_without_the_facet_says_nothing(client: Any) -> None:
    assert client.post(LINEAGE, encoded(run_event("COMPLETE", 2, "other"))).status_code == 201
    assert client.get(f"/api/v2/runs/{RUN.format(2)}").json()["coverage"] is None


@pytest.mark.parametrize(
    ("body", "summary"),
    [
        (b'{"reads": 0, "written": 0}', "nothing was seen that it read or wrote"),
        (b'{"reads": 0, "written": 2}', "nothing was seen that it read"),
        (
            b'{"reads": 1, "traced": 1, "written": 0}',
            "1 of 1 reads traced with columns; nothing was seen that it wrote",
        ),
        (b'{"reads": "many", "traced": -1, "reasons": 3, "limits": {}}', "nothing was seen that it read or wrote"),
    ],
)
def test_words_for_odd_counts(body: bytes, summary: str) -> None:
    found = read_coverage(body)
    assert found is not None
    assert found.summary == summary
