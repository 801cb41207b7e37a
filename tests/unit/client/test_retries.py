"""Pauses and repeated calls: bounded, counted, and over when the caller says so."""

import pytest

from headwater.client.retries import Backoff, pause, retry
from headwater.errors import InvalidQuestion, ServerUnavailable


def test_pauses_double_up_to_the_longest() -> None:
    for failures in range(100):
        longest = min(30.0, 0.2 * 2.0**failures)
        assert longest / 2 <= pause(failures, 0.2, 30.0) <= longest


def test_a_success_begins_anew() -> None:
    backoff = Backoff(1.0, 64.0)
    for _ in range(6):
        backoff.seconds()
    assert backoff.seconds() >= 32
    backoff.reset()
    assert backoff.seconds() <= 1


def call_after(failures: int, error: Exception) -> tuple[list[float], object]:
    slept: list[float] = []
    left = [error] * failures

    def call() -> str:
        if left:
            raise left.pop()
        return "answer"

    passes = lambda raised: isinstance(raised, ServerUnavailable)  # noqa: E731
    return slept, retry(call, passes=passes, pauses=(1.0, 2.0, 4.0), sleep=slept.append)


def test_a_call_is_repeated_after_each_pause() -> None:
    assert call_after(0, ServerUnavailable("away")) == ([], "answer")
    assert call_after(3, ServerUnavailable("away")) == ([1.0, 2.0, 4.0], "answer")


def test_the_last_error_and_what_will_not_pass_are_raised() -> None:
    with pytest.raises(ServerUnavailable):
        call_after(4, ServerUnavailable("away"))
    with pytest.raises(InvalidQuestion):
        call_after(1, InvalidQuestion("no"))
