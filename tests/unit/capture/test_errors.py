"""The message of a failed query names the cause, however far below Spark puts it."""

import pytest

from headwater.capture.spark.emission import error

CAUSE = "java.lang.RuntimeException: boom"


@pytest.mark.parametrize(
    ("message", "stack", "expected"),
    [
        ("", "", "failed"),
        ("boom\n\tat a.B.c", "", "boom"),
        ("boom", f"org.apache.spark.SparkException: boom\nCaused by: {CAUSE}\n\tat a.B.c", "boom"),
        ("Job aborted", f"x: Job aborted\nCaused by: a.B: [TASK_WRITE_FAILED] x\n\tat a\nCaused by: {CAUSE}\n\tat b", f"Job aborted Caused by: {CAUSE}"),
        (f"Job aborted\n\tat a\nCaused by: {CAUSE}", "", f"Job aborted Caused by: {CAUSE}"),
        ("Job aborted", "x: Job aborted\nCaused by: java.lang.NullPointerException\n\tat b", "Job aborted Caused by: java.lang.NullPointerException"),
    ],
)  # fmt: skip
def test_the_last_cause_is_in_the_message(message: str, stack: str, expected: str) -> None:
    assert error(message, stack)["errorMessage"]["message"] == expected
