"""A report of a check, and the settings of a platform, as lines of text: the same for `headwater capture` and `python -m headwater.capture.spark`."""

from collections.abc import Iterator

from headwater.capture.spark.check import Report
from headwater.capture.spark.platforms import Platform


def report_lines(report: Report) -> Iterator[str]:
    """A report: the setting, what was seen, where it went, and what to do."""
    if (setting := report.setting) is not None:
        yield f"Python {setting.python}, PySpark {setting.pyspark}, Java {setting.java}, {setting.master}"
        yield (
            "HEADWATER_CAPTURE=spark switches capture on in this Python."
            if setting.installed
            else "HEADWATER_CAPTURE=spark does NOT switch capture on in this Python; the check did it by hand."
        )
        yield ""
    width = max((len(step.does) for step in report.steps), default=0)
    for step in report.steps:
        yield f"{step.state:<8}  {step.does:<{width}}  {step.note}".rstrip()
    if report.steps:
        yield ""
    for sent in report.sent:
        rest = ", ".join(
            f"{count} {word}" for count, word in ((sent.waiting, "waiting"), (sent.refused, "refused")) if count
        )
        yield f"{sent.to}: {sent.delivered} delivered" + (
            f", {rest}: {sent.error or 'no answer in time'}" if rest else ""
        )
    if report.run is not None and report.sent:
        yield f"Show its lineage: headwater run show {report.run}"
    if report.ended is not None:
        yield "The job's last lines:"
        yield from (f"  {line}" for line in report.ended.splitlines())
    yield from (f"PROBLEM: {problem}" for problem in report.problems)
    yield (
        "Capture works here."
        if report.right
        else f"{len(report.problems)} problem{'s' if len(report.problems) > 1 else ''}."
    )


def platform_lines(platform: Platform) -> Iterator[str]:
    """A platform's settings: a comment before each text to copy."""
    yield f"# {platform.title}"
    for step in platform.steps:
        yield ""
        yield f"# {step.what}"
        yield from step.text.splitlines()
    yield ""
    yield f"# Tested: {platform.tried}"
    yield "# Then check it where the driver runs: python -m headwater.capture.spark check"
