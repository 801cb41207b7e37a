"""The example's five tables from its raw files in plain Python, one period at a time: what the packages must come to."""

import csv
import datetime as dt
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

PARIS = ZoneInfo("Europe/Paris")
Table = dict[str, list[tuple[Any, ...]]]

# The last month available at the end of each week, looked up in a calendar.
MONTHS = dict.fromkeys((5, 6, 7, 8), "2019-01") | dict.fromkeys((9, 10, 11, 12), "2019-02") | {13: "2019-03"}


def _lines(folder: Path) -> list[dict[str, str]]:
    return [json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines()]


def _date(instant: str) -> dt.date:
    return dt.datetime.fromisoformat(instant).astimezone(PARIS).date()


def _week(date: dt.date) -> str:
    year, week, _ = date.isocalendar()
    return f"{year}-W{week:02}"


def rebuilt(raw: Path) -> dict[str, Table]:
    """Return the sorted rows by table and key of the period."""
    first, last = dt.date(2019, 1, 1), dt.date(2019, 3, 31)
    articles: Table = {}
    for each in _lines(raw / "articles"):
        date = _date(each["published_at"])
        if first <= date <= last:
            row = (each["author"], dt.datetime.fromisoformat(each["published_at"]).replace(tzinfo=None), each["text"])
            articles.setdefault(str(date), []).append(row)
    words: Table = {}
    for day, rows in articles.items():
        counts = Counter((author, word) for author, _, text in rows for word in re.findall("[a-z']+", text.lower()))
        words[day] = [(author, word, n) for (author, word), n in counts.items()]
    prominence: Table = {}
    for month in ("2019-01", "2019-02", "2019-03"):
        days = [day for day in words if day.startswith(month)]
        used: Counter[str] = Counter()
        on: dict[str, set[str]] = {}
        for day in days:
            for _, word, n in words[day]:
                used[word] += n
                on.setdefault(word, set()).add(day)
        prominence[month] = [(word, n, len(on[word]), n * (len(days) - len(on[word]))) for word, n in used.items()]
    weeks = [f"2019-W{week:02}" for week in MONTHS]
    reads: Table = {}
    log = Counter((_week(_date(each["read_at"])), each["user"], each["author"]) for each in _lines(raw / "reads"))
    for (week, user, author), n in log.items():
        if week in weeks:
            reads.setdefault(week, []).append((user, author, n))
    found = {
        "articles_by_author": articles,
        "words_count": words,
        "word_prominence": prominence,
        "nb_read_exact": reads,
    }
    found["user_weekly_reads"] = {week: weekly(found, week, reads[week], MONTHS[int(week[-2:])]) for week in weeks}
    return {name: {key: sorted(rows) for key, rows in table.items()} for name, table in found.items()}


def weekly(found: dict[str, Table], week: str, reads: list[tuple[Any, ...]], month: str) -> list[tuple[Any, ...]]:
    """The ten words of each user."""
    score = {word: each for word, _, _, each in found["word_prominence"][month]}
    times: Counter[tuple[str, str]] = Counter()
    by_author: dict[str, list[tuple[str, int]]] = {}
    for day, rows in found["words_count"].items():
        if _week(dt.date.fromisoformat(day)) == week:
            for author, word, n in rows:
                by_author.setdefault(author, []).append((word, n))
    for user, author, n in reads:
        for word, many in by_author.get(author, []):
            times[user, word] += n * many
    rows = []
    for user in sorted({user for user, _ in times}):
        weighed = [(n, n * score[word], word) for (who, word), n in times.items() if who == user and word in score]
        weighed.sort(key=lambda row: (-row[1], row[2]))
        rows += [(user, word, n, weight, rank) for rank, (n, weight, word) in enumerate(weighed[:10], 1)]
    return rows


def guessed(raw: Path, days: int) -> list[tuple[str, str, int]]:
    """The assumed reads of users while reads are not counted."""
    with (raw / "subscriptions.csv").open() as file:
        return [(row["user"], row["author"], days) for row in csv.DictReader(file)]
