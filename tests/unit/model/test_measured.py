"""Measurement facets: what is read of one that an earlier Headwater recorded."""

import json

from headwater.model import measured


def test_a_quality_facet_recorded_under_earlier_names_is_read() -> None:
    day = {"day": "2026-03-01", "executions": 9, "toldExecutions": 8, "toldAgreed": 6, "toldOnly": 2, "parsedOnly": 1}
    (recorded,) = measured.quality(json.dumps({"days": [day]}).encode()).days
    renamed = {key.replace("told", "named"): value for key, value in day.items()}
    (current,) = measured.quality(json.dumps({"days": [renamed]}).encode()).days
    assert recorded == current
    assert (current.named_executions, current.named_agreed, current.named_only, current.parsed_only) == (8, 6, 2, 1)
