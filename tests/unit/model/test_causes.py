"""`model.causes` names what was planted, and nothing where nothing was. The whole measurement: `make soak`, docs/explanation/why.md."""

from collections.abc import Callable

import pytest
from tests.scale import full
from tests.unit.model.run_histories import History, draw_history

from headwater.model.causes import rank
from headwater.model.observation import Aspect, Kind, Observation

_SEEDS = range(10_000, 10_000 + full(1_000, 40))


def _share(test: Callable[[History], bool], histories: list[History]) -> float:
    return sum(test(one) for one in histories) / len(histories)


def _first(one: History) -> bool:
    """The plant is the first suspect, alone or with changes that no run tells from it."""
    suspects = rank(one.runs).suspects
    return bool(suspects) and any(cause.aspect in one.planted for cause in suspects[0].causes)


def _named(one: History) -> bool:
    return rank(one.runs).named is not None


def _wrong(one: History) -> bool:
    named = rank(one.runs).named
    return named is not None and not any(cause.aspect in one.planted for cause in named.causes)


def test_a_cause_of_full_effect_comes_first() -> None:
    histories = [draw_history(seed, 1.0) for seed in _SEEDS]
    assert _share(_first, histories) >= 0.95
    assert _share(_wrong, histories) <= 0.05


def test_one_of_two_causes_comes_first() -> None:
    assert _share(_first, [draw_history(seed, 1.0, causes=2) for seed in _SEEDS]) >= 0.95


@pytest.mark.parametrize("chance", [0.02, 0.1, 0.3])
def test_runs_that_fail_by_chance_have_no_cause(chance: float) -> None:
    assert _share(_named, [draw_history(seed, 1.0, causes=0, chance=chance) for seed in _SEEDS]) <= 0.05


def test_what_no_run_reports_is_not_taken_for_what_changed_with_it() -> None:
    assert _share(_named, [draw_history(seed, 1.0, causes=0, unrecorded=True) for seed in _SEEDS]) <= 0.05


@pytest.mark.parametrize("effect", [0.1, 0.3, 0.7])
def test_a_cause_of_less_effect_is_not_mistaken_for_another(effect: float) -> None:
    assert _share(_wrong, [draw_history(seed, effect) for seed in _SEEDS]) <= 0.05


@pytest.mark.parametrize("missing", [0.1, 0.3])
def test_missing_facets_name_no_other_cause(missing: float) -> None:
    assert _share(_wrong, [draw_history(seed, 1.0, missing=missing) for seed in _SEEDS]) <= 0.1


_CODE, _DATE = Aspect(Kind.CODE, "version"), Aspect(Kind.PARAMETER, "date")


def _runs(*codes: str, bad: str) -> list[Observation]:
    return [Observation(code == bad, {_CODE: code, _DATE: str(day)}) for day, code in enumerate(codes)]


def test_a_deploy_that_broke_the_job_is_named() -> None:
    named = rank(_runs(*["a"] * 20, *["b"] * 4, bad="b")).named
    assert named is not None
    (cause,) = named.causes
    assert (cause.aspect, cause.before, cause.after, cause.first) == (_CODE, "a", "b", 20)
    assert (cause.counts.bad_with, cause.counts.good_with, cause.counts.good_without, cause.harmless) == (4, 0, 20, 0)


def test_a_value_that_came_back_with_the_failures_is_named() -> None:
    named = rank(_runs(*["a"] * 10, "b", *["a"] * 10, "b", "b", bad="b")).named
    assert named is not None
    assert [cause.aspect for cause in named.causes] == [_CODE]


def test_deploys_that_went_well_speak_for_the_next() -> None:
    seldom, often = (
        rank(_runs(*codes, "z", bad="z")) for codes in (["c0"] * 20, [f"c{number}" for number in range(20)])
    )
    assert (seldom.named is None, often.named is None) == (False, True)


def test_a_change_like_others_that_did_no_harm_is_a_suspicion() -> None:
    """Three engines changed before: a fourth change may have come with the failure by chance."""
    engines = {Aspect(Kind.ENGINE, name): day for name, day in (("spark", 6), ("flink", 12), ("dbt", 18))}
    runs = [
        Observation(one.bad, one.values | {engine: str(day >= since) for engine, since in engines.items()})
        for day, one in enumerate(_runs(*["a"] * 24, *["b"] * 8, bad="b"))
    ]
    ranking = rank(runs)
    assert ranking.named is None
    assert ranking.coinciding is not None
    assert [cause.aspect for cause in ranking.coinciding.causes] == [_CODE]
    assert ranking.coincidence == pytest.approx(3 / 23)
    alone = rank([Observation(one.bad, {_CODE: one.values[_CODE]}) for one in runs])
    assert (alone.named is not None, alone.coinciding, alone.coincidence) == (True, None, 0.0)


def test_a_value_that_comes_and_goes_with_the_failures_is_no_coincidence() -> None:
    engines = {Aspect(Kind.ENGINE, name): day for name, day in (("spark", 2), ("flink", 4), ("dbt", 6))}
    codes = [*["a"] * 9, "b", *["a"] * 9, "b", *["a"] * 9, "b", "b"]
    runs = [
        Observation(one.bad, one.values | {engine: str(day >= since) for engine, since in engines.items()})
        for day, one in enumerate(_runs(*codes, bad="b"))
    ]
    ranking = rank(runs)
    assert (ranking.named is not None, ranking.coincidence) == (True, 0.0)


def test_an_input_that_stays_as_it_was_is_a_change() -> None:
    renewed = Aspect(Kind.RENEWED, "orders")
    runs = [Observation(False, {renewed: "yes", _DATE: str(day)}) for day in range(20)]
    runs += [Observation(True, {renewed: "no", _DATE: str(day)}) for day in range(20, 24)]
    named = rank(runs).named
    assert named is not None
    assert [(cause.aspect, cause.before, cause.after) for cause in named.causes] == [(renewed, "yes", "no#1")]


def test_ten_times_the_rows_are_a_change_and_a_little_more_is_none() -> None:
    rows = Aspect(Kind.VOLUME, "orders rows")
    good = [Observation(False, numbers={rows: 1000.0 + day}) for day in range(20)]
    named = rank([*good, *(Observation(True, numbers={rows: 10_000.0 + day}) for day in range(4))]).named
    assert named is not None
    assert [cause.aspect for cause in named.causes] == [rows]
    assert rank([*good, *(Observation(True, numbers={rows: 1050.0 + day}) for day in range(4))]).suspects == []


def test_without_good_or_bad_runs_nothing_is_ranked() -> None:
    assert rank([]).suspects == []
    assert rank(_runs("a", "b", bad="none")).suspects == []
    assert rank([Observation(True, {_CODE: "a"})]).suspects == []


def test_a_value_that_was_not_reported_is_not_a_new_one() -> None:
    runs = _runs(*["a"] * 20, *["a"] * 4, bad="none")
    runs[-4:] = [Observation(True, {_DATE: str(day)}) for day in range(4)]
    assert all(cause.aspect != _CODE for group in rank(runs).suspects for cause in group.causes)
