"""Tables of a Hive metastore, in Hive's formats: what was read and written of them."""

import json

import pytest
from tests.fixtures.statements import ROOT, Statements

PATH = ROOT / "tests/cases/hive/statements.json"
CASES = json.loads(PATH.read_text())


@pytest.fixture(scope="module")
def hive(tmp_path_factory: pytest.TempPathFactory) -> Statements:
    return Statements("spark-submit", PATH, tmp_path_factory.mktemp("hive"), "hive")


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case["about"] for case in CASES])
def test_what_is_told_of_a_statement(hive: Statements, number: int) -> None:
    assert hive.says(number) == CASES[number]["says"]


def test_nothing_went_wrong(hive: Statements) -> None:
    assert hive.trouble == []
