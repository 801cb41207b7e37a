"""Names of entities: valid, different, the same in any order."""

import random

from headwater.entities.declaration.needs import NAME
from headwater.entities.inference.entity_names import named
from headwater.model.names import DatasetName


def test_as_short_as_can_be_told_apart() -> None:
    found = named(
        [
            DatasetName("bigquery", "acme.marts.reads"),
            DatasetName("bigquery", "acme.raw.reads"),
            DatasetName("bigquery", "acme.raw.words"),
            DatasetName("s3://lake", "exports/2024/words list.parquet"),
            DatasetName("s3://lake", "taken"),
            DatasetName("pg", "acme.raw.words2"),
            DatasetName("one", "same"),
            DatasetName("two", "same"),
        ],
        {"taken"},
    )
    assert {f"{dataset.namespace} {dataset.name}": name for dataset, name in found.items()} == {
        "bigquery acme.marts.reads": "marts.reads",
        "bigquery acme.raw.reads": "raw.reads",
        "bigquery acme.raw.words": "words",
        "s3://lake exports/2024/words list.parquet": "words_list",
        "s3://lake taken": "taken_2",
        "pg acme.raw.words2": "words2",
        "one same": "same",
        "two same": "same_2",
    }


def test_any_names_give_valid_ones_of_their_own() -> None:
    chosen = random.Random(5)
    for _ in range(300):
        datasets = [
            DatasetName(
                chosen.choice(["file", "pg", "s3://b"]),
                "".join(chosen.choices("ab./_- $€\n'\"#é", k=chosen.randint(1, 6))),
            )
            for _ in range(12)
        ]
        found = named(datasets, {"a", "b"})
        assert found.keys() == set(datasets)
        assert len({*found.values(), "a", "b"}) == len(found) + 2
        assert all(NAME.fullmatch(name) for name in found.values()), found
        chosen.shuffle(datasets)
        assert named(datasets, {"a", "b"}) == found
    (long,) = named([DatasetName("pg", "x" * 900)], ()).values()
    assert NAME.fullmatch(long)
