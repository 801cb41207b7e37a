"""The input of the example: articles cut from five texts, and their readers, the same for the same arguments.

Times are instants: an article of 23:30 UTC is one of the next day in Paris. Nothing here knows days of Paris, weeks or entities.
"""

import datetime as dt
import json
import random
from pathlib import Path

TEXTS = Path(__file__).parent / "texts"
FIRST, LAST = dt.date(2018, 12, 31), dt.date(2019, 3, 31)
USERS = 12
LINES = 3


def write(data: Path, corrupted: dt.date | None = None) -> None:
    """`raw/articles`, `raw/reads` and `raw/subscriptions.csv` below `data`. `corrupted`: articles of that date lost their spaces on the way."""
    authors = sorted(path.stem for path in TEXTS.glob("*.txt"))
    texts = {author: (TEXTS / f"{author}.txt").read_text(encoding="utf-8").splitlines() for author in authors}
    follows = {user: random.Random(user).sample(authors, 2) for user in range(USERS)}
    for folder in ("articles", "reads"):
        (data / "raw" / folder).mkdir(parents=True, exist_ok=True)
    table = "".join(f"user{user:02},{author}\n" for user, some in follows.items() for author in sorted(some))
    (data / "raw/subscriptions.csv").write_text("user,author\n" + table, encoding="utf-8")
    date = FIRST
    while date <= LAST:
        number = (date - FIRST).days
        articles = [
            _article(author, texts[author], number, place, date, spaced=date != corrupted)
            for place, author in enumerate(authors)
        ]
        _lines(data / f"raw/articles/{date}.jsonl", articles)
        _lines(data / f"raw/reads/{date}.jsonl", _reads(date, follows, authors))
        date += dt.timedelta(days=1)


def _article(author: str, lines: list[str], number: int, place: int, date: dt.date, *, spaced: bool) -> dict[str, str]:
    first = number * LINES + place
    text = " ".join(lines[(first + more) % len(lines)] for more in range(LINES))
    hour = (number * 7 + place * 5) % 24
    return {
        "author": author,
        "published_at": f"{date}T{hour:02}:30:00Z",
        "text": text if spaced else text.replace(" ", ""),
    }


def _reads(date: dt.date, follows: dict[int, list[str]], authors: list[str]) -> list[dict[str, str]]:
    chance = random.Random(date.toordinal())
    found = []
    for user, followed in follows.items():
        for author in authors:
            if chance.random() < (0.7 if author in followed else 0.1):
                time = f"{date}T{chance.randrange(24):02}:{chance.randrange(60):02}:00Z"
                found.append({"user": f"user{user:02}", "author": author, "read_at": time})
    return found


def _lines(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
