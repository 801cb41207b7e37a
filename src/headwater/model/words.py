"""Words of names and texts as search sees them: one way to cut and fold for what is kept and for what is asked.

A run is letters or digits without a break: `dim_customerOrders2` has the runs `dim`, `customerOrders` and `2`. A run in camelCase is
known whole and by its pieces (`customerorders`, `customer`, `orders`). Scripts written without spaces (Han, kana) are known by each
character and each pair, because nobody types where a word begins. Everything is folded: NFKC, then case.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import msgspec

# A longer word is cut, on both sides alike.
LONGEST = 64
_RUN = re.compile(r"[^\W\d_]+|\d+")
_SPACELESS = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SQL_NOISE = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
# Bounds for one statement: what is read of it, and how many different words are kept.
_SQL_CHARACTERS, _SQL_WORDS = 100_000, 300
_SQL_KEYWORDS = frozenset(
    """all alter and any array as asc begin between bigint boolean both by case cast char coalesce commit constraint create cross current
    database date decimal declare default delete desc distinct do double drop else end escape except exists explain extract false fetch
    float following for foreign from full function group having if ilike in inner insert int integer intersect interval into is join key
    lateral left like limit merge natural not null nulls numeric of offset on only or order outer over overwrite partition preceding
    primary procedure range recursive references replace returning returns right rollback row rows schema select set smallint some string
    table temp temporary text then time timestamp tinyint to trailing trim true truncate unbounded union unique unnest update using
    values varchar view when where window with within without""".split()
)


class Piece(msgspec.Struct, frozen=True):
    """A word and where it stands in its text."""

    word: str
    start: int
    end: int


def fold(text: str) -> str:
    """The text without what nobody types twice alike: width, ligatures, case."""
    return (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()


def words(text: str) -> set[str]:
    """Every word by which the text is found."""
    if not text.isascii():
        return {piece.word for piece in pieces(text)}
    found = set()
    for run in _RUN.findall(text):
        found.add(run.lower()[:LONGEST])
        if run.isalpha() and not (run.islower() or run.isupper() or run[1:].islower()):
            found.update(part.lower()[:LONGEST] for part in _CAMEL.findall(run))
    return found


@lru_cache(maxsize=100_000)
def words_of_name(text: str) -> frozenset[str]:
    """`words` of what comes again and again: a column, a tag, an owner, a namespace."""
    return frozenset(words(text))


def pieces(text: str) -> Iterator[Piece]:
    """The words of the text where they stand; those of a camelCase run overlap it."""
    for match in _RUN.finditer(text):
        run, start, end = match[0], match.start(), match.end()
        if not run.isascii() and _SPACELESS.search(run):
            yield from _spaceless(run, start)
            continue
        yield Piece(fold(run)[:LONGEST], start, end)
        if run.isascii() and not (run.islower() or run.isupper() or run[1:].islower()):
            for part in _CAMEL.finditer(run):
                if len(part[0]) < len(run):
                    yield Piece(part[0].lower()[:LONGEST], start + part.start(), start + part.end())


def _spaceless(run: str, start: int) -> Iterator[Piece]:
    for part in re.finditer(rf"{_SPACELESS.pattern}|[^\W\d_]", run):
        for at in range(part.start(), part.end()):
            yield Piece(fold(run[at])[:LONGEST], start + at, start + at + 1)
            if at + 1 < part.end():
                yield Piece(fold(run[at : at + 2])[:LONGEST], start + at, start + at + 2)


def asked(text: str) -> list[list[str]]:
    """The words of a question in order, each as ways to say it: any one of the lists' members has to be found.

    A way is words joined by a space that must all be there: `customerOrders` is `["customerorders", "customer orders"]`.
    """
    found: list[list[str]] = []
    for match in _RUN.finditer(text):
        run = match[0]
        if not run.isascii() and _SPACELESS.search(run):
            pairs = [piece.word for piece in _spaceless(run, 0) if len(run) == 1 or piece.end - piece.start == 2]
            found.append([" ".join(dict.fromkeys(pairs or [fold(run)[:LONGEST]]))])
            continue
        parts = [piece.word for piece in pieces(run)]
        found.append([parts[0], " ".join(dict.fromkeys(parts[1:]))] if len(parts) > 2 else [parts[0]])
    return [list(way) for way in dict.fromkeys(tuple(one) for one in found)]


def joined(text: str) -> str:
    """The runs of a name with one sign between them: `Customer Orders`, `customer-orders` and `CustomerOrders` are the same."""
    found: list[str] = []
    for match in _RUN.finditer(text):
        run = match[0]
        cut = run.isascii() and run.isalpha() and not (run.islower() or run.isupper() or run[1:].islower())
        found += [part.lower() for part in _CAMEL.findall(run)] if cut else [fold(run)]
    return "_".join(found)


def sql_words(text: str) -> set[str]:
    """Words of a statement that say what it is about: identifiers and words of its literals; no keywords, numbers or comments."""
    found: set[str] = set()
    for word in (piece.word for piece in pieces(_SQL_NOISE.sub(" ", text[:_SQL_CHARACTERS]))):
        if len(word) > 1 and word not in _SQL_KEYWORDS and not word.isdecimal():
            found.add(word)
            if len(found) == _SQL_WORDS:
                break
    return found


def worth_knowing(word: str) -> bool:
    """Whether a misspelt word may have meant this one: not numbers, not scraps, not characters of scripts without spaces."""
    return len(word) > 2 and not word[0].isdecimal() and not _SPACELESS.match(word)


def shortened(word: str) -> list[str]:
    """The word, and the word without each of its characters: two words with one slip between them share one of these."""
    return sorted({word, *(word[:i] + word[i + 1 :] for i in range(len(word)))})


def distance(a: str, b: str, most: int) -> int:
    """Characters added, left out, replaced, or swapped with their neighbour between the two; more than `most` is `most + 1`."""
    if abs(len(a) - len(b)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        new = [i]
        for j, right in enumerate(b, 1):
            cost = min(row[j] + 1, new[j - 1] + 1, row[j - 1] + (left != right))
            if i > 1 and j > 1 and left == b[j - 2] and a[i - 2] == right:
                cost = min(cost, before[j - 2] + 1)
            new.append(cost)
        if min(new) > most:
            return most + 1
        before, row = row, new
    return min(row[-1], most + 1)
