"""Results of checks of data, out of OpenLineage's facets: a dataset's `dataQualityAssertions` and a run's `test`.

dbt, Soda and `headwater.check` send the first, newer producers the second. Great Expectations sends a facet of its own instead of the first.

A check that its author configured as a warning doubts nothing. A skipped one has no result.
"""

import enum
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from headwater.model.facets import clean
from headwater.model.names import bounded
from headwater.model.parts import PartDecoder

ASSERTIONS, TESTS = "dataQualityAssertions", "test"
_GREAT_EXPECTATIONS = "greatExpectations_assertions"
DOUBT = "made from doubted"
"""The `ref` of the report that an instance is trusted although what it was made from is doubted."""
# Bytes of a check's name and of its column: both stand in one index.
_LONGEST, _LONGEST_DETAIL = 400, 300


_Body = TypeVar("_Body", bytes, msgspec.Raw)


class Result(enum.IntEnum):
    """The greater, the worse."""

    PASSED = 0
    WARNED = 1
    FAILED = 2


class CheckResult(msgspec.Struct, frozen=True):
    """`field`: the column that was checked; empty for the dataset as a whole. `detail`: what was expected and what was found."""

    name: str
    field: str
    result: Result
    detail: str


class _Assertion(msgspec.Struct):
    success: bool
    assertion: str | None = None
    expectation: str | None = msgspec.field(name="expectationType", default=None)
    column: str | None = None
    name: str | None = None
    severity: str | None = None
    expected: Any = None
    actual: Any = None

    def __post_init__(self) -> None:
        if not self.title:
            raise ValueError("an assertion needs `assertion`")

    @property
    def title(self) -> str:
        """The name of the check; where it has none, the kind of its assertion."""
        return self.name or self.assertion or self.expectation or ""


class _Assertions(msgspec.Struct):
    assertions: list[_Assertion] | None = None


class _Test(msgspec.Struct):
    name: str
    status: str
    severity: str | None = None
    expected: Any = None
    actual: Any = None


class _Tests(msgspec.Struct):
    tests: list[_Test] | None = None


_assertions = PartDecoder(_Assertions)
_tests = PartDecoder(_Tests)


def assertions_facet(facets: Mapping[str, _Body]) -> _Body | None:
    """Return the facet that has the results of a dataset's checks: the standard one, else that of Great Expectations."""
    return facets.get(ASSERTIONS) or facets.get(_GREAT_EXPECTATIONS)


def assertions(body: bytes) -> list[CheckResult]:
    """The results of a facet of `assertions_facet`. A check goes by its name; where it has none, by the kind of its assertion.

    Results of one name and column are one check, which has the worst of them: a failure must not hide behind a success.
    """
    worst: dict[tuple[str, str], CheckResult] = {}
    for each in _assertions.decode(body).assertions or []:
        found = CheckResult(
            bounded(clean(each.title), _LONGEST),
            bounded(clean(each.column or ""), _LONGEST),
            _result(each.success, each.severity),
            _detail(each.expected, each.actual),
        )
        earlier = worst.get((found.name, found.field))
        if earlier is None or found.result > earlier.result:
            worst[found.name, found.field] = found
    return list(worst.values())


def tests(body: bytes) -> list[CheckResult]:
    """The results of a run's `test` facet."""
    return [
        CheckResult(
            bounded(clean(each.name), _LONGEST),
            "",
            _result(each.status.lower() == "pass", each.severity),
            _detail(each.expected, each.actual),
        )
        for each in _tests.decode(body).tests or []
        if each.status.lower() in {"pass", "fail"}
    ]


def _result(success: bool, severity: str | None) -> Result:
    if success:
        return Result.PASSED
    return Result.WARNED if (severity or "").lower() in {"warn", "info"} else Result.FAILED


def _detail(expected: object, actual: object) -> str:
    said = [f"{what} {text}" for what, text in (("expected", expected), ("found", actual)) if text is not None]
    return clean(", ".join(said))[:_LONGEST_DETAIL]
