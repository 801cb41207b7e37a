"""Reports on instances: their path and the server's answer. Does not send: the caller knows how long to try and what to store."""

import msgspec

PATH = "/api/v2/instances"


class _Refused(msgspec.Struct):
    message: str


class _Result(msgspec.Struct):
    refused: _Refused | None = None


class _Results(msgspec.Struct):
    results: list[_Result]


def refusals(answer: bytes) -> list[str | None]:
    """Return for each report, in order, why it was refused; None if accepted. Raises `msgspec.DecodeError` for another answer."""
    results = msgspec.json.decode(answer, type=_Results).results
    return [each.refused.message if each.refused is not None else None for each in results]
