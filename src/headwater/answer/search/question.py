"""Interpret the words of a search: which known words are meant, and in which order of places to look for them."""

import re
from collections.abc import Iterable

import msgspec

from headwater.model import words
from headwater.model.facets import clean
from headwater.store import search as search_store
from headwater.store.database import Connection
from headwater.store.search import STATEMENT, exact, quoted, whole

# Limits on a question; the answer reports what was left out.
MOST_CHARACTERS, MOST_WORDS = 2_000, 16
_RUN = re.compile(r"[^\W\d_]+|\d+")
_SEGMENT = re.compile(r"[^\s/.:]+")
_SIGN = re.compile(r"[^\w\s]|_")
_NODE = re.compile(r"^(?:dataset|job):")


class Run(msgspec.Struct):
    """Letters or digits without a break, as ways to find them: a way is words that must all be there, a word is spellings of it.

    `prefix`: words that begin with it will do.
    """

    text: str
    ways: list[list[list[str]]]
    prefix: bool

    def spellings(self) -> set[str]:
        return {one for way in self.ways for word in way for one in word}


class Question(msgspec.Struct):
    """`text` as it is searched, `corrected` when that is not what was typed, `cut` when it was too long."""

    text: str
    runs: list[Run]
    corrected: bool
    cut: bool

    def anywhere(self) -> str:
        """The tsquery of every document that has all the words somewhere."""
        return self._all(search_store.WORD_CLASSES)

    def in_names(self) -> str:
        return self._all("n")

    def tiers(self) -> list[tuple[str, float, str]]:
        """Return (where, score, tsquery) from the best place to the worst; a document belongs to the first tier that finds it."""
        text = self.text.strip()
        label = words.joined(text)
        plain = _NODE.sub("", text)
        exactly, begins = self._all("n", prefix=False), self._all("n")
        if not self.runs:
            return [("name", 1.0, quoted(whole("e", text))), ("name", 0.7, begins)]
        segments = _SEGMENT.findall(text)
        columns = f"{quoted(whole('C', text))} | " + _and(
            f"{quoted(whole('N', one))} | {quoted(whole('C', one))}" for one in segments
        )
        starts = quoted(whole("l", label), prefix=len(label) > 1)
        if len(text) > 3:
            starts += f" | {quoted(whole('e', text), prefix=True)}"
        some = _and(f"{_term(run, 'n')} | {_term(run, 'c', prefix=False)}" for run in self.runs)
        both, told, described = self._all("nc"), self._all("nctop"), self._all("nctopd")
        return [
            ("name", 1.0, f"{quoted(whole('e', text))} | {quoted(whole('e', plain))}"),
            ("name", 0.9, quoted(whole("l", label))),
            ("name", 0.8, starts),
            ("name", 0.7, exactly),
            ("name", 0.65, f"({begins}) & !({exactly})"),
            ("column", 0.55, f"({columns}) & !({begins})"),
            ("column", 0.5, f"({some}) & !({begins})"),
            ("column", 0.45, f"({both}) & !({some})"),
            ("tag", 0.3, f"({told}) & !({both})"),
            ("description", 0.2, f"({described}) & !({told})"),
            ("sql", 0.1, f"({self.anywhere()}) & !({described})"),
        ]

    def _all(self, classes: str, *, prefix: bool = True) -> str:
        if not self.runs:
            return _and(quoted("y" + sign) for sign in dict.fromkeys(_SIGN.findall(self.text)))
        return _and(_term(run, classes, prefix=prefix) for run in self.runs)


def _and(terms: Iterable[str]) -> str:
    return " & ".join(f"({term})" for term in terms)


def _term(run: Run, classes: str, *, prefix: bool = True) -> str:
    """The run in one of these places."""
    prefix = prefix and run.prefix
    return " | ".join(
        _and(" | ".join(quoted(c + one, prefix=prefix) for one in word for c in classes) for word in way)
        for way in run.ways
    )


async def understand(connection: Connection, typed: str) -> Question:
    """The question in words that are known: what is misspelt is replaced by the nearest known words, what only begins a word stays.

    Short words (under three letters) and numbers are taken as they are.
    """
    text = clean(typed).encode("utf-8", "replace").decode().strip()
    cut = text[:MOST_CHARACTERS]
    asked = words.asked(cut)
    kept = asked[:MOST_WORDS]
    spelt = sorted({word for ways in kept for way in ways for word in way.split(" ")})
    known = await search_store.match_words(connection, spelt) if spelt else {}
    runs, mended = [], {}
    for place, ways in enumerate(kept):
        run = _run(ways, known, last=place == len(kept) - 1)
        if run.text != ways[0]:
            mended[ways[0]] = run.text
        runs.append(run)

    def mend(match: re.Match[str]) -> str:
        return mended.get(words.fold(match[0])[: words.LONGEST], match[0])

    return Question(
        _RUN.sub(mend, cut) if mended else cut, runs, bool(mended), len(cut) < len(text) or len(kept) < len(asked)
    )


def _run(ways: list[str], known: dict[str, search_store.WordMatch], *, last: bool) -> Run:
    read = [[match_word(word, known) for word in way.split(" ")] for way in ways]
    prefix = not ways[0].isdecimal() if len(ways[0]) > 1 else False
    if last and ways[0].isdecimal() and len(ways[0]) > 1:
        prefix = True
    # As it is where its words are known; else by the first way that can be mended.
    right = [way for way in read if all(mended is None for _, mended in way)]
    if right:
        return Run(ways[0], [[[word] for word, _ in way] for way in right], prefix)
    for way in reversed(read):
        if all(mended is None or mended for _, mended in way):
            spelt = [mended or [word] for word, mended in way]
            return Run(" ".join(one[0] for one in spelt), [spelt], prefix)
    return Run(ways[0], [[[word] for word, _ in way] for way in read], prefix)


def match_word(word: str, known: dict[str, search_store.WordMatch]) -> tuple[str, list[str] | None]:
    """The word, and None if it is taken as it is; else the nearest known words (at most five, none when nothing is near)."""
    if not words.worth_knowing(word) or known[word].begins:
        return word, None
    most = 1 if len(word) < 6 else 2 if len(word) < 10 else 3
    near = [(words.distance(word, one, most), one) for one in known[word].near]
    best = min((far for far, _ in near), default=most + 1)
    if best > most:
        return word, []
    # The first letter is seldom the wrong one.
    nearest = sorted((one for far, one in near if far == best), key=lambda one: (one[0] != word[0], len(one), one))
    return word, nearest[:5]


def narrowed(
    query: str,
    *,
    type: str | None,
    namespace: str | None,
    platform: str | None,
    tag: str | None,
    owner: str | None,
    trait: str | None = None,
    statements: bool = True,
) -> str:
    """The query, of documents of this type, namespace, platform, tag, owner and trait alone. A blank query: all of them.

    `statements`: also jobs that are one statement of the job above.
    """
    given = (("T", type), ("S", namespace), ("P", platform), ("G", tag), ("O", owner), ("R", trait))
    terms = [query, *(quoted(exact(where, clean(value))) for where, value in given if value is not None)]
    found = _and(term for term in terms if term)
    return found if statements else f"({found}) & !{quoted(STATEMENT)}" if found else f"!{quoted(STATEMENT)}"
