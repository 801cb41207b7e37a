"""Split names and texts into words for search. The index and the queries use the same functions.

A run is an unbroken sequence of letters or of digits: `dim_customerOrders2` has the runs `dim`, `customerOrders` and `2`. A camelCase run is indexed
as a whole and by its pieces (`customerorders`, `customer`, `orders`). Scripts without spaces (Han, kana) are indexed by each character and each
pair, because users do not type word boundaries. All words are folded: NFKC, then case.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import msgspec

# A longer word is cut, in the index and in queries alike.
LONGEST = 64
_RUN = re.compile(r"[^\W\d_]+|\d+")
_SPACELESS = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SQL_NOISE = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
# Bounds for one statement: the characters that are read, and the distinct words that are indexed.
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
    """A word and its position in the text."""

    word: str
    start: int
    end: int


def fold(text: str) -> str:
    """The text without differences in width, ligatures and case."""
    return (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()


def words(text: str) -> set[str]:
    """All words by which the text can be found."""
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
    """`words`, cached, for names that occur often: a column, a tag, an owner, a namespace."""
    return frozenset(words(text))


def pieces(text: str) -> Iterator[Piece]:
    """The words of the text with their positions. The pieces of a camelCase run overlap the run."""
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
    """The words of a query in order, each as a list of alternatives, of which at least one must match.

    An alternative is one or more words joined by spaces, which must all match: `customerOrders` is `["customerorders", "customer orders"]`.
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
    """The runs of a name joined by `_`: equal for `Customer Orders`, `customer-orders` and `CustomerOrders`."""
    found: list[str] = []
    for match in _RUN.finditer(text):
        run = match[0]
        cut = run.isascii() and run.isalpha() and not (run.islower() or run.isupper() or run[1:].islower())
        found += [part.lower() for part in _CAMEL.findall(run)] if cut else [fold(run)]
    return "_".join(found)


def sql_words(text: str) -> set[str]:
    """The identifiers of a statement and the words of its literals, without keywords, numbers and comments."""
    found: set[str] = set()
    for word in (piece.word for piece in pieces(_SQL_NOISE.sub(" ", text[:_SQL_CHARACTERS]))):
        if len(word) > 1 and word not in _SQL_KEYWORDS and not word.isdecimal():
            found.add(word)
            if len(found) == _SQL_WORDS:
                break
    return found


def worth_knowing(word: str) -> bool:
    """Return whether to suggest the word for a misspelt one: no numbers, no words under three characters, no scripts without spaces."""
    return len(word) > 2 and not word[0].isdecimal() and not _SPACELESS.match(word)


def shortened(word: str) -> list[str]:
    """The word, and the word without each one of its characters. Two words that differ by one typing error share one of these."""
    return sorted({word, *(word[:i] + word[i + 1 :] for i in range(len(word)))})


def distance(a: str, b: str, most: int) -> int:
    """The edit distance: characters added, removed, replaced, or swapped with a neighbour. Above `most`, returns `most + 1`."""
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
