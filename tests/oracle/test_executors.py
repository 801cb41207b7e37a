"""The engine inside Spark's executors: what is shipped there and back is plain, and what it says is what it says here."""

import pickle
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from headwater.columns import Catalog, Session, analyse, form
from headwater.columns.cache import Cache

TEXTS = [
    f"insert into sums select team, sum(amount) as s{place} from orders where kind = {place} group by team"
    for place in range(40)
]
CATALOG = Catalog({"orders": ["id", "team", "amount", "kind"], "sums": ["team", "total"]}, "spark")


def test_everything_that_travels_is_plain() -> None:
    (statement,) = analyse(TEXTS[0], "spark", CATALOG)
    assert pickle.loads(pickle.dumps(statement)) == statement
    assert analyse(TEXTS[0], "spark", pickle.loads(pickle.dumps(CATALOG)), pickle.loads(pickle.dumps(Session()))) == [
        statement
    ]
    assert isinstance(statement.form, form.Lowered)
    assert form.decode(form.encode(statement.form)) == statement.form
    assert pickle.loads(pickle.dumps(Cache())).analyse(TEXTS[0], "spark", CATALOG) == [statement]


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark")
def test_executors_say_the_same(session: Any) -> None:
    catalog = session.sparkContext.broadcast(CATALOG)

    def analysed(texts: Iterator[str]) -> Iterator[bytes]:
        cache = Cache()
        for text in texts:
            for statement in cache.analyse(text, "spark", catalog.value):
                yield msgspec.msgpack.encode(statement.flows)

    found = session.sparkContext.parallelize(TEXTS, 4).mapPartitions(analysed).collect()
    assert found == [msgspec.msgpack.encode(analyse(text, "spark", CATALOG)[0].flows) for text in TEXTS]
