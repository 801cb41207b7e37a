"""A draft as YAML: whatever was told of a dataset, what is read back is what was written."""

import random

from headwater.entities.declaration.canonical import document as canonical
from headwater.entities.declaration.canonical import from_document
from headwater.entities.declaration.whole import gathered
from headwater.entities.inference.draft import Draft, Need, commented, document, readable, written

PERIOD = {"every": "day", "from": "2024-01-01"}


def test_what_is_written_is_what_is_read() -> None:
    chosen = random.Random(11)
    words = ["no", "2024", "a: b", "x:", "- y", "#z", "null", "it's", '"q"', "back\\slash", "é€", "\x85", "\u2028", "\U0001f600", "a\tb", "{}", "[", "&a", "*b", "!c", "%d", "@e", "`f", "a,b", "1e3", "~", "s3://lake marts/reads", "tab\there", "end "]  # fmt: skip
    for _ in range(400):
        text = readable(" ".join(chosen.choices(words, k=chosen.randint(1, 3)))) or "x"
        draft = Draft(
            "e", PERIOD, f"from\n{text}", "high", notes=(f"{text}\n{text}",),
            said={"description": text, "owner": [readable(chosen.choice(words)) or "bob", "ann"], "tags": {"t": text}, "stored_in": [f"n {text}"]},
            needs=(Need("e", "previous", f"seen\n{text}", "high"), Need(text, "same", left_out=f"a\n{text}")),
        )  # fmt: skip
        read = gathered([("drafts.yaml", written(draft))]).by_name["e"]
        assert canonical(read) == canonical(from_document(document(draft))), written(draft)
        assert read.description == text.strip()
        assert [each.dates.text for each in read.entity.states["completed"] if each.dates] == ["previous"]


def test_all_that_is_left_out_leaves_nothing() -> None:
    draft = Draft("e", {"every": "day"}, "10 updates", "low", needs=(Need("dataset:a:b", left_out="is no entity"),))
    assert written(draft) == (
        "entity: e\n# from 10 updates; confidence low\nperiod: day\n# depends_on:\n  # - dataset:a:b # is no entity\n"
    )
    assert document(draft) == {"entity": "e", "period": {"every": "day"}}
    assert commented("a\n\tb\x00c") == "# a b c"
