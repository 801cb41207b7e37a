"""Datasets and jobs by words: in names, columns, tags, owners, namespaces, descriptions and SQL, misspelt or not, best first.

How it is ranked and what it costs: docs/explanation/search.md.
"""

import asyncio

import msgspec

from headwater.answer.search import highlights as search_highlights
from headwater.answer.search.highlights import Highlight
from headwater.answer.search.question import MOST_CHARACTERS, MOST_WORDS, Question, narrowed, understand
from headwater.errors import InvalidQuestion
from headwater.model.described import FACETS, described
from headwater.model.names import short
from headwater.store import search as search_store
from headwater.store.database import Connection, Database
from headwater.store.history import facets
from headwater.store.lineage import names
from headwater.store.search import Candidate

# The documents that are counted, those of a tier that are ranked at least, and those that can be paged through.
MOST_COUNTED, _RANKED, _REACHED = 10_000, 500, 10_000
# So many are ranked one by one; more by the index.
_FEW = 300


class Result(msgspec.Struct):
    """`matched`: the worst place one of the words had to be looked for: name, column, tag, owner, namespace, description or sql.

    `detail`: the text of that place (of a name: another name of the dataset, when it was that). `score`: 1 for the exact name, less below.
    """

    id: str
    type: str
    namespace: str
    name: str
    label: str
    matched: str
    detail: str | None
    highlights: list[Highlight]
    score: float


class SearchResult(msgspec.Struct):
    """`facets`: type, namespace, platform, tag, owner → value → how many; the twenty most frequent values of each.

    `corrected`: the words searched instead of those typed. `capped`: `total` and `facets` stop at 10,000. `notes` say what else was left out.
    """

    total: int
    results: list[Result]
    facets: dict[str, dict[str, int]]
    corrected: str | None
    capped: bool
    notes: list[str]


async def search(
    database: Database,
    q: str,
    *,
    type: str | None = None,
    namespace: str | None = None,
    tag: str | None = None,
    owner: str | None = None,
    platform: str | None = None,
    children: bool = False,
    limit: int = 20,
    offset: int = 0,
) -> SearchResult:
    """Return datasets and jobs that have all the words, best first; with `children` also jobs that are one statement of another.

    Raises InvalidQuestion for a blank `q` and an unknown type.
    """
    wanted = kind_of(type)
    if not q.strip():
        raise InvalidQuestion("q must not be blank", parameter="q")
    filters = {"type": wanted, "namespace": namespace, "platform": platform, "tag": tag, "owner": owner}
    async with database.connection() as connection:
        question = await understand(connection, q)
    if not question.anywhere():
        return SearchResult(0, [], {facet: {} for facet in _FACETS}, None, False, [])
    tiers, anywhere = question.tiers(), narrowed(question.anywhere(), **filters, statements=children)
    most = max(_RANKED, min(offset + limit, _REACHED))

    async def ranked() -> list[Result]:
        async with database.connection() as connection:
            queries = [narrowed(query, **filters, statements=children) for _, _, query in tiers]
            found = await search_store.few(connection, anywhere, queries, _FEW)
            if not found:
                found = await search_store.candidates(connection, queries, most)
            return await _results(connection, question, found[:_REACHED][offset : offset + limit], tiers)

    async def counted() -> dict[str, dict[str, int]]:
        async with database.connection() as connection:
            return await search_store.counts(connection, anywhere, MOST_COUNTED + 1)

    results, counts = await asyncio.gather(ranked(), counted())
    total = sum(counts.get("type", {}).values())
    capped = total > MOST_COUNTED
    notes = []
    if capped:
        notes.append(f"more than {MOST_COUNTED:,} have these words; counts are of {MOST_COUNTED:,} of them")
    if question.cut:
        notes.append(f"only the first {MOST_WORDS} words of the first {MOST_CHARACTERS:,} characters were searched")
    if offset + limit > _REACHED and total > _REACHED:
        notes.append(f"only the first {_REACHED:,} can be paged through")
    return SearchResult(
        min(total, MOST_COUNTED),
        results,
        {facet: counts.get(facet, {}) for facet in _FACETS},
        question.text.strip() if question.corrected else None,
        capped,
        notes,
    )


_FACETS = ("type", "namespace", "platform", "tag", "owner")


async def _results(
    connection: Connection, question: Question, page: list[Candidate], tiers: list[tuple[str, float, str]]
) -> list[Result]:
    ids = [one.id for one in page]
    bodies = await facets.of_owners(connection, ids, FACETS)
    said = await search_store.texts_of_people(connection, ids)
    aliases = await names.aliases(connection, ids)
    found = []
    for one in page:
        where, score, _ = tiers[one.tier - 1]
        about = described(bodies.get(one.id, {}), said.get(one.id, []))
        highlights = search_highlights.of_node(question, one.namespace, one.name, aliases.get(one.id, []), about)
        matched, detail = _why(where, one, highlights)
        found.append(
            Result(one.node_id, one.type, one.namespace, one.name, short(one.name), matched, detail, highlights, score)
        )
    return found


def _why(where: str, one: Candidate, highlights: list[Highlight]) -> tuple[str, str | None]:
    """Return the field that a result is shown to match, and the text."""
    for field in ("owner", "namespace", "tag") if where == "tag" else (where,):
        texts = [highlight.text for highlight in highlights if highlight.field == field]
        if field == "name":
            return field, next((text for text in texts if one.name not in texts), None)
        if texts:
            return field, texts[0]
    return where, None


async def near(connection: Connection, name: str, limit: int) -> list[Candidate]:
    """Return datasets and jobs whose names have the words of this name, or those of its end, or some of them."""
    question = await understand(connection, name)
    if not question.runs:
        return []
    ends = msgspec.structs.replace(question, runs=question.runs[-1:])
    any_word = " | ".join(f"({msgspec.structs.replace(question, runs=[run]).in_names()})" for run in question.runs)
    queries = [f"({question.in_names()})", f"({ends.in_names()})", any_word]
    found = await search_store.candidates(connection, queries, 100)
    return sorted(found, key=lambda one: (one.tier, abs(len(one.name) - len(name)), one.name))[:limit]


def kind_of(kind: str | None) -> str | None:
    """Return DATASET or JOB, or None for both. Raises InvalidQuestion."""
    if kind is None:
        return None
    if kind.upper() not in {"DATASET", "JOB"}:
        raise InvalidQuestion(f"type {kind!r} is not dataset or job", parameter="type")
    return kind.upper()
