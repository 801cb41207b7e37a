"""The search documents: one for each dataset and job, kept with the events that change it, and asked by words.

A lexeme of a document begins with a letter for where its word stands, so that one index answers "in a name" as well as "anywhere":

`e` a whole name · `l` the last segment of a name, its words joined by `_` · `n` a word of a name · `N` a segment of a name ·
`c` a word of a column · `C` a whole column · `p` a word of the namespace · `t` a word of a tag · `o` of an owner · `d` of a description ·
`s` of SQL · `y` a sign in a name · and to narrow: `T` type, `S` namespace, `P` platform, `G` tag, `O` owner, `R` trait, each whole.
`F` alone: a job that is one statement of another.
"""

import datetime as dt
import re
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

import msgspec
from psycopg import AsyncCursor

from headwater.model import words
from headwater.model.described import FACETS, AnnotationFact, Described, described
from headwater.model.names import short
from headwater.model.statement_jobs import is_statement
from headwater.store import sqlfile
from headwater.store.database import Connection, sent

WORD_CLASSES = "ncptods"
STATEMENT = "F"
# The places of words, what is given up last first.
_CUT_LAST = "TFSPelNnyGORtopCcds"
_PART = chr(31)
# A lexeme has at most 2046 bytes, a tsvector one megabyte: what is longer is cut, the least important first.
_LONGEST = 480
_MOST_BYTES = 800_000
_MOST_COLUMNS, _MOST_DESCRIPTION = 5_000, 20_000
_SEGMENT = re.compile(r"[^\s/.:]+")
_SIGN = re.compile(r"[^\w\s]|_")
_PAGE = 1000
_DOCUMENT = ("id", "type", "namespace", "name", "tags", "owners", "source", "words")
# As PostgreSQL orders ids, and faster than comparing them.
_BY_NUMBER = attrgetter("int")
_PLAIN = described({}, [])
_said = msgspec.json.Decoder(list[tuple[str, str, str, dict[str, Any], bool]])


async def refresh(
    connection: Connection,
    ids: Collection[uuid.UUID],
    *,
    regrouped: bool = False,
    new: Mapping[uuid.UUID, tuple[str, str]] | None = None,
) -> None:
    """Make the documents of these datasets and jobs as what is known of them now says.

    Called inside the transaction that changed names, facets, annotations or `hidden`; whose document is made from the same as before costs
    one reading of what it was made from. Ids may be any names of a dataset. `regrouped`: names were linked or parted in this transaction; pass
    all that were one, too. `new`: namespace and name of the datasets among them that this transaction is the first to report. The rows of the
    datasets and jobs must have been locked before, as writing them does. Fixed number of statements for each thousand.
    """
    if not ids:
        return
    before, after = set[str](), set[str]()
    plain = await _make_new(connection, new, after) if new and len(new) >= _PAGE else set()
    if asked := sorted(set(ids) - plain, key=_BY_NUMBER):
        await _make_stale(connection, asked, regrouped, before, after)
    if before or after:
        known = _vocabulary(after)
        await _write_words(connection, sorted(known), sorted(_vocabulary(before - after) - known))


async def _make_new(
    connection: Connection, datasets: Mapping[uuid.UUID, tuple[str, str]], after: set[str]
) -> set[uuid.UUID]:
    """Make the documents of new datasets from their names. Returns the ids of those made; their lexemes go to `after`.

    A new dataset has little more than its name, and the questions of `_make_stale` to PostgreSQL are half of the work. Datasets that have more
    are left for `_make_stale`.
    """
    queries, ids = sqlfile.load("search"), sorted(datasets, key=_BY_NUMBER)
    async with connection.pipeline():
        targets = [(id_, "dataset:{}:{}".format(*datasets[id_])) for id_ in ids]
        cursor = await queries["described"].send_columns(connection, ("id", "target"), targets)
        await sent(connection)
        left = {row[0] for row in await cursor.fetchall()}
        plain = [id_ for id_ in ids if id_ not in left]
        for start in range(0, len(plain), _PAGE):
            documents = []
            for id_ in plain[start : start + _PAGE]:
                lexemes = _lexemes("DATASET", [datasets[id_]], _PLAIN)
                documents.append((id_, "DATASET", *datasets[id_], "", "", None, _PART.join(lexemes)))
                after.update(lexemes)
            await queries["upsert_documents"].send_columns(connection, _DOCUMENT, documents)
            await sent(connection)
    return set(plain)


async def _make_stale(
    connection: Connection, asked: list[uuid.UUID], regrouped: bool, before: set[str], after: set[str]
) -> None:
    """Make the documents that are not made from what is known now. Their former lexemes go to `before`, the new ones to `after`."""
    queries = sqlfile.load("search")
    async with connection.pipeline():
        await queries["lock_groups"].send(connection, ids=asked, regrouped=regrouped)
        doomed = await queries["doomed"].send(connection, ids=asked)
        # PostgreSQL looks for the next page, and writes the last, while the lexemes of this one are computed.
        pages = [asked[at : at + _PAGE] for at in range(0, len(asked), _PAGE)]
        ahead = await _send_stale(connection, pages[0])
        for following in [*pages[1:], []]:
            rows = await ahead.fetchall()
            if following:
                ahead = await _send_stale(connection, following)
            documents = []
            for node, type_, namespaces, names, facets, bodies, facts, source, old in rows:
                plain = not facets and not facts
                about = (
                    _PLAIN if plain else described(dict(zip(facets or (), bodies or (), strict=True)), _facts(facts))
                )
                lexemes = _lexemes(type_, list(zip(namespaces, names, strict=True)), about)
                texts = (_PART.join(_plain(about.tags)), _PART.join(_plain(about.owners)))
                documents.append((node, type_, namespaces[0], names[0], *texts, source, _PART.join(lexemes)))
                before.update(old or ())
                after.update(lexemes)
            if documents:
                documents.sort(key=lambda document: document[0].int)
                await queries["upsert_documents"].send_columns(connection, _DOCUMENT, documents)
                await sent(connection)
    gone = []
    for id_, old in await doomed.fetchall():
        gone.append(id_)
        before.update(old)
    if gone:
        await queries["delete_documents"].exec(connection, ids=gone)


async def _send_stale(connection: Connection, ids: list[uuid.UUID]) -> AsyncCursor[Any]:
    cursor = await sqlfile.load("search")["stale"].send(connection, ids=ids, facets=list(FACETS))
    await sent(connection)
    return cursor


async def _write_words(connection: Connection, known: list[str], left: list[str]) -> None:
    """Add and remove words, after the documents: a writer that removes words must see the documents of all writers that rely on them."""
    queries = sqlfile.load("search")
    await queries["lock_words_alone" if left else "lock_words"].exec(connection)
    if known:
        await queries["insert_words"].exec(connection, word=known)
    if left:
        anywhere = [any_of(f"{where}{word}" for where in WORD_CLASSES) for word in left]
        await queries["delete_words"].exec(connection, word=left, query=anywhere)


async def refresh_all(connection: Connection) -> None:
    """Make every document, a page at a time."""
    after = uuid.UUID(int=0)
    while rows := await sqlfile.load("search")["pages"].many(connection, after=after, limit=_PAGE):
        await refresh(connection, [row[0] for row in rows])
        after = rows[-1][0]


def _facts(text: str | None) -> list[AnnotationFact]:
    return [AnnotationFact(*fact) for fact in _said.decode(text)] if text else []


def _plain(texts: list[str]) -> list[str]:
    return [text.replace(_PART, " ") for text in texts]


def _vocabulary(lexemes: Iterable[str]) -> set[str]:
    return {word for word in {one[1:] for one in lexemes if one[0] in WORD_CLASSES} if words.worth_knowing(word)}


def _lexemes(type_: str, names: Sequence[tuple[str, str]], about: Described) -> list[str]:
    """The document's lexemes, the most important first, within its bounds."""
    found: dict[str, None] = {exact("T", type_): None}

    def add(where: str, values: Iterable[str]) -> None:
        found.update(dict.fromkeys(where + value for value in values))

    for namespace, name in names:
        found |= _of_namespace(namespace)
        found |= dict.fromkeys(
            [whole("e", name), whole("e", f"{namespace}:{name}"), whole("l", words.joined(short(name)))]
        )
        add("n", words.words(name))
        add("y", _SIGN.findall(name))
        found |= dict.fromkeys(map(_segment, _SEGMENT.findall(name)))
    if about is _PLAIN and len(names) == 1:
        return list(found)
    if type_ == "JOB" and any(is_statement(name, about.traits) for _, name in names):
        found[STATEMENT] = None
    columns = about.columns[:_MOST_COLUMNS]
    found |= dict.fromkeys(whole("C", column) for column, _ in columns)
    add("c", set[str]().union(*(words.words_of_name(column) for column, _ in columns)))
    found |= dict.fromkeys([exact("G", tag) for tag in about.tags] + [exact("O", owner) for owner in about.owners])
    found |= dict.fromkeys([exact("R", trait) for trait in about.traits])
    add("t", set[str]().union(*map(words.words_of_name, about.tags)))
    add("o", set[str]().union(*map(words.words_of_name, about.owners)))
    texts = " ".join([about.description or "", *about.traits, *(text for _, text in columns if text)])
    add("d", words.words(texts[:_MOST_DESCRIPTION]))
    add("s", words.sql_words(about.sql) if about.sql else [])
    if sum(map(len, found)) * 4 < _MOST_BYTES:
        return list(found)
    size, kept = 0, []
    for lexeme in sorted(found, key=lambda one: (_CUT_LAST.index(one[0]), one)):
        size += len(lexeme.encode("utf-8", "replace")) + 4
        if size > _MOST_BYTES:
            break
        kept.append(lexeme)
    return kept


@lru_cache(maxsize=10_000)
def _of_namespace(namespace: str) -> dict[str, None]:
    """The lexemes of a namespace; not to be changed."""
    own = [exact("S", namespace), exact("P", platform(namespace))]
    return dict.fromkeys([*own, *("p" + word for word in sorted(words.words_of_name(namespace)))])


@lru_cache(maxsize=100_000)
def _segment(text: str) -> str:
    return whole("N", text)


def exact(where: str, text: str) -> str:
    """The lexeme of a whole text, as it is spelt."""
    return where + text[:_LONGEST].replace(_PART, " ")


def whole(where: str, text: str) -> str:
    """The lexeme of a whole text, case-folded."""
    return where + words.fold(text[:_LONGEST])[:_LONGEST].replace(_PART, " ")


def platform(namespace: str) -> str:
    """The scheme of a namespace, or what stands for it: `s3` of `s3://bucket`, `file` of `file`."""
    return namespace.split(":", 1)[0]


def quoted(lexeme: str, *, prefix: bool = False) -> str:
    """A lexeme inside a tsquery."""
    text = lexeme.replace("\0", "").replace("\\", "\\\\").replace("'", "''")
    return f"'{text}':*" if prefix else f"'{text}'"


def any_of(lexemes: Iterable[str]) -> str:
    return " | ".join(quoted(lexeme) for lexeme in lexemes)


class WordMatch(msgspec.Struct, frozen=True):
    """The documents' match of a word. `begins`: the word, or words that begin with it, are indexed."""

    known: bool
    begins: bool
    near: list[str]


async def match_words(connection: Connection, asked: Sequence[str]) -> dict[str, WordMatch]:
    """Return whether each word is indexed, and if not, indexed words that look like it (in no order)."""
    mendable = [words.worth_knowing(word) for word in asked]
    rows = await sqlfile.load("search")["match_words"].many(
        connection,
        word=list(asked),
        after=[word[:-1] + chr(min(ord(word[-1]) + 1, 0x10FFFF)) for word in asked],
        near=[" ".join(words.shortened(word)) if can else "" for word, can in zip(asked, mendable, strict=True)],
        alike=[can and len(word) > 5 for word, can in zip(asked, mendable, strict=True)],
    )
    return {row[0]: WordMatch(row[1], row[2], sorted({*(row[3] or ()), *(row[4] or ())})) for row in rows}


class Candidate(msgspec.Struct, frozen=True):
    """A document found, and by which of the queries (from 1)."""

    tier: int
    id: uuid.UUID
    type: str
    namespace: str
    name: str
    last_seen: dt.datetime

    @property
    def node_id(self) -> str:
        return f"{self.type.lower()}:{self.namespace}:{self.name}"


async def candidates(connection: Connection, queries: Sequence[str], most: int) -> list[Candidate]:
    """Return documents by the first query that finds them, among equals the one with the latest event first; each query examines about `most`."""
    rows = await sqlfile.load("search")["candidates"].many(connection, queries=list(queries), most=most)
    found: dict[uuid.UUID, Candidate] = {}
    for row in rows:
        found.setdefault(row[1], Candidate(*row))
    return list(found.values())


async def few(connection: Connection, query: str, queries: Sequence[str], most: int) -> list[Candidate]:
    """The documents the query finds when they are fewer than `most`, as `candidates` would give them; none when they are more.

    The query is looked up once, and the others are asked of its few documents: cheaper than each of them over the index.
    """
    rows = await sqlfile.load("search")["few"].many(connection, query=query, queries=list(queries), most=most)
    return [Candidate(*row) for row in rows if row[0] is not None]


async def of_sql(connection: Connection, texts: Sequence[str], most: int) -> list[uuid.UUID]:
    """Return jobs whose SQL has all words of one of these texts; each text examines about `most`."""
    queries = [query for text in texts if (query := _sql_query(text))]
    return [one.id for one in await candidates(connection, queries, most) if one.type == "JOB"] if queries else []


async def with_sql(connection: Connection, jobs: Collection[uuid.UUID], text: str) -> set[uuid.UUID]:
    """Return those of these jobs whose SQL has all words of the text."""
    rows = (
        await sqlfile.load("search")["among"].many(connection, ids=list(jobs), query=_sql_query(text)) if jobs else []
    )
    return {row[0] for row in rows}


def _sql_query(text: str) -> str:
    return " & ".join(quoted("s" + word) for word in sorted(words.sql_words(text)))


async def counts(connection: Connection, query: str, most: int) -> dict[str, dict[str, int]]:
    """Count documents by facet (type, namespace, platform, tag, owner) and value, of the first `most` documents the query finds."""
    found: dict[str, dict[str, int]] = {}
    for facet, value, count in await sqlfile.load("search")["counts"].many(connection, query=query, most=most):
        found.setdefault(facet, {})[value] = count
    return found


async def texts_of_people(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[AnnotationFact]]:
    """Return the texts that people gave these nodes: descriptions, tags, owners."""
    rows = await sqlfile.load("search")["texts_of_people"].many(connection, ids=list(ids)) if ids else []
    return {row[0]: _facts(row[1]) for row in rows}
