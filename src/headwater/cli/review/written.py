"""A review as Markdown for a comment, and as SARIF 2.1.0 for a code scanner. Names come from files of strangers and are escaped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from headwater.cli.review.broken_policies import BrokenPolicy
from headwater.cli.review.noticed import Noticed
from headwater.cli.review.results import BREAKS, CHANGES, COSMETIC, MAY_CHANGE, WORDS, Affected, Review

MARK = "<!-- headwater review -->"
"""The first line of the comment, by which the next review finds it."""
_MOST_ROWS = 50
_CODE_ENDS = re.compile(r"[`|\r\n]")
_LEVELS = {BREAKS: "error", CHANGES: "warning", MAY_CHANGE: "note", COSMETIC: "note"}


def summary(review: Review) -> str:
    """Return the review in one line."""
    if review.severity is None:
        return (
            f"Nothing changes in {len(review.same):,} edited texts of {review.texts:,}: comments or layout only."
            if review.same
            else "Nothing changes."
        )
    counts = Counter(one.severity for one in review.affected)
    parts = [f"{counts[BREAKS]:,} would break", f"{counts[CHANGES]:,} would hold other values"]
    parts += [f"{counts[MAY_CHANGE]:,} may on other data"] if counts[MAY_CHANGE] else []
    parts += [f"{counts[COSMETIC]:,} cosmetic"] if counts[COSMETIC] else []
    return f"{', '.join(parts)}, of {review.texts:,} texts."


def markdown(
    review: Review, problems: list[str], noticed: Noticed | None = None, broken: Sequence[BrokenPolicy] = ()
) -> str:
    """Return the comment. Rows past 50 are counted. `noticed`: what a server knows, if one was asked."""
    lines = [MARK, "### Headwater review", "", summary(review), ""]
    if review.affected:
        lines += ["| effect | where | makes | why | by way of |", "|---|---|---|---|---|"]
        lines += [_row(one) for one in review.affected[:_MOST_ROWS]]
        if len(review.affected) > _MOST_ROWS:
            lines.append(f"\n{len(review.affected) - _MOST_ROWS} more are in the JSON answer.")
    if broken:
        lines += ["", "**Policies that this breaks**", ""]
        for one in broken[:_MOST_ROWS]:
            where = f"{one.table}#{one.column}" if one.column else one.table
            lines.append(
                f"- {_code(one.policy)}: {_code(where)} ({_code(f'{one.place}:{one.line}')}) by way of {_code(' → '.join(one.path))}"
            )
    if noticed is not None:
        lines += _noticed(noticed)
    if review.changes:
        lines += ["", "<details><summary>Changes of tables</summary>", ""]
        for change in review.changes[:_MOST_ROWS]:
            place = f"{change.table}.{change.column}" if change.column else change.table
            lines.append(
                f"- {change.action.replace('_', ' ')} {_code(place)}" + (f" to {_code(change.to)}" if change.to else "")
            )
        if len(review.changes) > _MOST_ROWS:
            lines.append(f"- and {len(review.changes) - _MOST_ROWS} more")
        lines += ["", "</details>"]
    if review.same:
        lines += ["", f"Edited without effect: {', '.join(map(_code, review.same[:_MOST_ROWS]))}"]
    if problems:
        lines += ["", f"{len(problems)} could not be read whole: {_code(problems[0])}"]
    return "\n".join(lines) + "\n"


def _noticed(noticed: Noticed) -> list[str]:
    """Return who notices, and what the changed tables cost."""
    lines = ["", "#### Who notices", ""]
    if noticed.parties:
        lines += ["| who | effect | by way of | runs | last |", "|---|---|---|---|---|"]
        for one in noticed.parties[:_MOST_ROWS]:
            last = (one.last_at or "")[:10]
            because = ", ".join(map(_code, one.because[:3])) + (" …" if len(one.because) > 3 else "")
            lines.append(
                f"| {one.kind} {_plain(one.name)} | {WORDS[one.severity]} | {because} | {one.runs or ''} | {last} |"
            )
        if len(noticed.parties) > _MOST_ROWS:
            lines.append(f"\n{len(noticed.parties) - _MOST_ROWS} more are in the JSON answer.")
    else:
        lines.append("No dashboard, person or pipeline that the server knows uses what changes.")
    for cost in noticed.costs:
        parts = [f"{cost.executions:,} statements"]
        parts += [f"{cost.money:,.2f} to run"] if cost.money is not None else []
        parts += [f"{cost.keep_month:,.2f} a month to keep"] if cost.keep_month is not None else []
        lines += ["", f"{_code(cost.table)} costs: {', '.join(parts)}."]
    if noticed.unknown:
        lines += ["", f"The server does not know {', '.join(map(_code, noticed.unknown[:_MOST_ROWS]))}."]
    if noticed.unasked:
        lines += ["", f"{noticed.unasked} more changes were not asked about."]
    return lines


def _row(one: Affected) -> str:
    effect = WORDS[one.severity] + ("" if one.certain else ", perhaps")
    columns = f": {', '.join(one.columns)}" if one.columns else ""
    cells = (
        effect,
        _code(f"{one.place}:{one.line}"),
        _code(one.table) + (f" tier {_code(one.tier)}" if one.tier else ""),
        _plain(one.reason + columns),
        " → ".join(map(_code, one.path)),
    )
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    return f"`{_CODE_ENDS.sub(' ', text)}`" if text else ""


def _plain(text: str) -> str:
    """Return the text without what Markdown, HTML or a mention would make of it."""
    return re.sub(r"([\\`*_\[\]<>|#@!])", r"\\\1", text.replace("\n", " ").replace("<", "(").replace(">", ")")).replace(
        "@", "@\u200b"
    )


def sarif(review: Review) -> dict[str, Any]:
    """Return the review as a SARIF log. Source: OASIS SARIF 2.1.0."""
    results = [
        {
            "ruleId": one.severity,
            "level": _LEVELS[one.severity],
            "message": {
                "text": f"{one.table or 'the query'}: {one.reason}"
                + (f" ({', '.join(one.columns)})" if one.columns else "")
            },
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": re.sub(r"\[.*\]$", "", one.place)},
                        "region": {"startLine": max(1, one.line)},
                    }
                }
            ],
        }
        for one in review.affected
    ]
    rules = [{"id": severity, "shortDescription": {"text": words}} for severity, words in WORDS.items()]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "headwater review", "rules": rules}}, "results": results}],
    }
