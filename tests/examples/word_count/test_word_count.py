"""The word count example: states passed, exactly what one wrong day makes wrong, and that making that again repairs everything."""

from typing import Any

import pyarrow.parquet
import pytest
from rebuilt import rebuilt

# The suite follows a mistake in the tutorial: tests/acceptance/test_tutorial.py.
pytestmark = [pytest.mark.spark, pytest.mark.soak]

DAYS, MONTHS, WEEKS = "2019-01-01..2019-03-31", "2019-01..2019-03", "2019-W05..2019-W13"
REPAIRED = [
    ("articles_by_author", "2019-01-29"),
    ("words_count", "2019-01-29"),
    ("word_prominence", "2019-01"),
    ("user_weekly_reads", "2019-W05..2019-W08"),  # the week itself and those that read January's prominence
]
WRONG = {
    "articles_by_author 2019-01-29",
    "words_count 2019-01-29",
    "word_prominence 2019-01",
    *(f"user_weekly_reads 2019-W{week:02}" for week in (5, 6, 7, 8)),
}


def test_weeks_are_estimated_then_completed(quarter: Any) -> None:
    first, rest = quarter.states["first"], quarter.states["rest"]
    assert first["articles_by_author"] == first["words_count"]
    assert first["words_count"][0] == ("2019-01-01..2019-03-25", "completed")
    assert first["user_weekly_reads"] == [(WEEKS, "estimated")]
    assert first["nb_read_exact"] == [(WEEKS, "missing")]
    assert rest == {
        "articles_by_author": [(DAYS, "completed")],
        "words_count": [(DAYS, "completed")],
        "word_prominence": [(MONTHS, "completed")],
        "nb_read_exact": [(WEEKS, "completed")],
        "user_weekly_reads": [(WEEKS, "completed")],
    }


def test_a_week_is_guessed_from_its_first_day_and_counted_at_its_end(quarter: Any) -> None:
    latest, guess = quarter.ask("/api/v2/entities/user_weekly_reads/instances/2019-W13")["versions"]
    read = {each["entity"]: each["instances"] for each in guess["reads"]}
    assert read == {"words_count": ["2019-03-25"], "word_prominence": ["2019-02"]}
    read = {each["entity"]: each["instances"] for each in latest["reads"]}
    assert read == {
        "words_count": ["2019-03-25..2019-03-31"],
        "word_prominence": ["2019-03"],
        "nb_read_exact": ["2019-W13"],
    }


def test_one_wrong_day_makes_exactly_these_wrong(quarter: Any) -> None:
    hits = {each["entity"]: (each["instances"], each["basis"]) for each in quarter.wrong["hits"]}
    assert hits == {
        "articles_by_author": (["2019-01-29"], "exact"),
        "words_count": (["2019-01-29"], "exact"),
        "word_prominence": (["2019-01"], "exact"),
        "user_weekly_reads": (["2019-W05..2019-W08"], "exact"),
    }
    wrong = quarter.states["wrong"]
    assert wrong["nb_read_exact"] == [(WEEKS, "completed")]
    assert wrong["user_weekly_reads"] == [("2019-W05..2019-W08", "wrong"), ("2019-W09..2019-W13", "completed")]


def test_making_exactly_these_again_repairs_everything(quarter: Any) -> None:
    assert quarter.said.splitlines() == [f"made again: {entity} {period}" for entity, period in REPAIRED]
    assert quarter.states["repaired"] == {
        "articles_by_author": {"completed": 90},
        "words_count": {"completed": 90},
        "word_prominence": {"completed": 3},
        "nb_read_exact": {"completed": 9},
        "user_weekly_reads": {"completed": 9},
    }
    (incident,) = quarter.ask("/api/v2/incidents")["incidents"]
    assert incident["wrong"] == 0


def test_nothing_else_was_touched(quarter: Any) -> None:
    files, before = quarter.files(), quarter.before["files"]
    assert {name for name in before if files[name] != before[name]} == WRONG
    assert files.keys() == before.keys()
    fingerprints = quarter.fingerprints()
    changed = {name for name, had in quarter.before["fingerprints"].items() if fingerprints[name] != had}
    assert changed == WRONG
    assert all(fingerprints[name][0] != fingerprints[name][1] for name in WRONG)
    assert all(each is not None for some in fingerprints.values() for each in some)


def test_tables_are_those_of_a_full_rebuild(quarter: Any) -> None:
    expected = rebuilt(quarter.data / "raw")
    for entity, table in expected.items():
        found = {}
        for folder in (quarter.data / entity).glob("*=*"):
            (file,) = folder.glob("*.parquet")
            rows = pyarrow.parquet.ParquetFile(file).read().to_pylist()
            found[folder.name.partition("=")[2]] = sorted(tuple(row.values()) for row in rows)
        assert found == table, entity
