"""`headwater.check`: report what a check of data found. A failed one makes the version that was checked, and what is made from it, doubted."""

from typing import Any

from headwater.client.given import text


def check(
    place: Any,
    name: str,
    success: bool,
    *,
    column: str | None = None,
    expected: object = None,
    actual: object = None,
    severity: str = "error",
) -> bool:
    """Report the result of a check in the current step; without one, in a step of its own. Returns `success`; never raises, never waits.

    `place`: what was checked, as in `Step.input`: an output of the step if it is one, else an input. `severity="warn"`: a failure doubts nothing.
    """
    from headwater.client.step import current_step, step

    told: dict[str, Any] = {"column": column, "expected": expected, "actual": actual, "severity": severity}
    if here := current_step():
        here.check(place, name, success, **told)
    else:
        with step(f"check {text(name)}") as alone:
            alone.check(place, name, success, **told)
    return bool(success)
