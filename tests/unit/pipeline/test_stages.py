"""The error of a stage whose JVM is gone."""

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError, get_return_value
from pyspark.errors import AnalysisException

from headwater.pipeline.stages import gone


def test_a_question_without_an_answer_and_a_closed_socket_are_a_jvm_that_is_gone() -> None:
    with pytest.raises(Py4JError) as unanswered:
        get_return_value("x", None, "o55", "save")  # what py4j makes of an answer it could not read
    assert gone(unanswered.value)
    assert gone(Py4JNetworkError("Answer from Java side is empty"))
    assert gone(ConnectionRefusedError(111, "Connection refused"))


def test_an_answer_that_is_an_error_is_not() -> None:
    with pytest.raises(Py4JError) as answered:
        get_return_value("xsMethod save([]) does not exist", None, "o55", "save")
    assert not gone(answered.value)
    assert not gone(AnalysisException("no such column"))
