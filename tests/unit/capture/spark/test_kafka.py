"""The topics that options of Kafka name."""

import pytest

from headwater.capture.spark.kafka import topics

SERVERS = {"kafka.bootstrap.servers": "a:9092, b:9092"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({**SERVERS, "topic": "out"}, ["out"]),
        ({**SERVERS, "subscribe": "in1, in2,"}, ["in1", "in2"]),
        ({**SERVERS, "assign": '{"in1":[0,1],"in3":[0]}'}, ["in1", "in3"]),
        # Only the broker knows the topics of a pattern.
        ({**SERVERS, "subscribepattern": "in.*"}, []),
        ({**SERVERS, "assign": "no JSON"}, []),
        (SERVERS, []),
        ({"topic": "out"}, []),
    ],
)
def test_topics_are_named_as_openlineage_names_them(options: dict[str, str], expected: list[str]) -> None:
    assert topics(options) == [("kafka://a:9092", name) for name in expected]
