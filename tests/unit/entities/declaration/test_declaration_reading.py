"""The meaning of texts, and the problems of invalid ones: golden cases and hostile texts."""

import random
import time
from pathlib import Path

import pytest
import yaml

from headwater.entities.declaration import document as documents
from headwater.entities.declaration.canonical import document, from_document
from headwater.entities.declaration.reading import read
from headwater.entities.declaration.whole import gathered
from headwater.entities.time.instances import Instances
from headwater.errors import InvalidEntities

CASES = Path(__file__).parents[3] / "cases" / "entities"
WORD_COUNT = (CASES / "declaration/word_count.yaml").read_text(encoding="utf-8")
MEANS = yaml.safe_load((CASES / "declaration_means.yaml").read_text(encoding="utf-8"))
REFUSED = yaml.safe_load((CASES / "declaration_refused.yaml").read_text(encoding="utf-8"))


def problems(text: str | bytes) -> list[str]:
    with pytest.raises(InvalidEntities) as caught:
        gathered([("e.yaml", text)])
    found = caught.value.detail["problems"]
    assert isinstance(found, list)
    assert [f"{p['file']}:{p['line']}:{p['column']}: {p['message']}" for p in caught.value.detail["places"]] == found  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize(("text", "said"), [(text, case["document"]) for case in MEANS for text in case["texts"]])
def test_what_a_text_means(text: str, said: dict[str, object]) -> None:
    [declared] = read(text, "e.yaml")
    assert document(declared) == said
    assert document(from_document(said)) == said


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["text"])
def test_what_is_refused(case: dict[str, object]) -> None:
    assert problems(str(case["text"])) == case["problems"]


def test_the_article_s_entities_in_its_own_words() -> None:
    text = (CASES / "declaration/weekly_reads_as_published.yaml").read_text(encoding="utf-8")
    found = gathered([("article.yaml", text)]).by_name
    assert document(found["user_weekly_reads"]) == {
        "entity": "user_weekly_reads",
        "kind": "timeseries",
        "period": {"every": "week", "tz": "UTC"},
        "states": [
            {
                "state": "estimated",
                "depends_on": [
                    {"word_prominence": {"dates": "last_available"}},
                    {"words_count": {"dates": "all_week"}},
                ],
            },
            {
                "state": "completed",
                "depends_on": [{"nb_read_exact": {"dates": "all_week"}}, {"words_count": {"dates": "all_week"}}],
            },
        ],
    }
    assert document(found["word_prominence"])["period"] == {"every": "month", "tz": "UTC"}


def test_the_word_count() -> None:
    found = gathered([("words.yaml", WORD_COUNT)])
    reads = found.by_name["user_weekly_reads"]
    assert list(found.by_name) == ["articles_by_author", "words_count", "word_prominence", "nb_read_exact", reads.name]
    assert list(reads.entity.states) == ["estimated", "completed"]
    paris = {"every": "week", "tz": "Europe/Paris", "from": "2019-01-07"}
    assert reads.entity.instances == Instances.of(paris)
    exact, prominence, words = reads.entity.states["completed"]
    assert (exact.upstream, exact.wait, exact.then, exact.minimum) == ("nb_read_exact", 6 * 3600, "fail", None)
    assert prominence.dates is not None
    assert (prominence.dates.text, words.columns) == ("last_available within 45 days", ("n", "word"))
    assert [str(link) for link in found.graph.upstream("word_prominence")] == ["word_prominence ← words_count (same)"]
    assert found.warnings == ()


def test_parts_know_where_they_stand() -> None:
    lines = WORD_COUNT.splitlines()
    reads = gathered([("words.yaml", WORD_COUNT)]).by_name["user_weekly_reads"]
    for path, word in (
        (("period",), "period:"),
        (("entity",), "entity: user_weekly_reads"),
        (("states", "estimated"), "estimated:"),
        (("states", "completed", 0), "nb_read_exact:"),
        (("states", "completed", 2), "words_count: {dates: all_week, c"),
        (("produced_by", 0), "produced_by:"),
    ):
        place = reads.place(*path)
        assert lines[place.line - 1][place.column - 1 :].startswith(word)
    assert from_document(document(reads)).place("period").line == 0


def test_nothing_declared_is_a_declaration() -> None:
    assert [read(text, "e.yaml") for text in ("", "---\n---\n", "# nothing", "entities:", "entities: []")] == [[]] * 5


# -- hostile texts --


def test_aliases_are_not_multiplied() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert problems(bomb) == ["e.yaml:2:8: aliases are not read; write what *a stands for"]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "a:\n"], ids=["list", "mapping", "block", "lines"])
def test_deep_nesting_is_refused_at_once(opening: str) -> None:
    text = opening * 100_000 if opening != "a:\n" else "".join(" " * n + "a:\n" for n in range(2_000))
    started = time.process_time()
    assert [each.partition(": ")[2] for each in problems(text)] == ["nested deeper than 20"]
    assert time.process_time() - started < 2


def test_json_that_is_nested_too_deeply_is_refused() -> None:
    said: object = "x"
    for _ in range(100_000):
        said = [said]
    with pytest.raises(InvalidEntities, match="nested too deeply"):
        from_document({"entity": "a", "period": "day", "tags": said})


def test_other_encodings_are_refused_where_they_begin() -> None:
    assert problems("entity: a\nperiod: day\nowner: Zoé".encode("latin-1")) == [
        "e.yaml:3:10: not UTF-8: byte 0xe9; save the file as UTF-8"
    ]
    assert problems("entity: a\nowner: é\x01") == ["e.yaml:2:9: not YAML: control characters are not allowed (0x01)"]
    assert problems("entity: \ud800") == ["e.yaml:1:9: not Unicode: half of a surrogate pair"]


def test_a_text_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "LARGEST", 20)
    assert problems("entity: a\nperiod: day") == [
        "e.yaml:1:1: the file has more than 0 MiB; declare entities in several files"
    ]


def test_whatever_is_written_is_answered() -> None:
    """Bytes of a declaration changed, left out, doubled: it is read, or all that is wrong is said with a line of the text."""
    chance = random.Random(20)
    strange = [b"\t", b"\n", b":", b": ", b"- ", b"[", b"]", b"{", b"}", b"'", b'"', b"&a ", b"*a", b"!!", b"\x00", b"\xff", b"~", b"%", b"|", b"0", b"\xc2\x85", b"---\n"]  # fmt: skip
    refused = 0
    for _ in range(400):
        text = WORD_COUNT.encode()
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(text))
            text = text[:at] + chance.choice(strange) * chance.randrange(2) + text[at + chance.randrange(3) :]
        try:
            gathered([("e.yaml", text)])
        except InvalidEntities as wrong:
            refused += 1
            places = wrong.detail["places"]
            assert isinstance(places, list)
            assert all(1 <= place["line"] <= text.count(b"\n") + text.count(b"\xc2\x85") + 2 for place in places), text
    assert refused > 100
