"""What is said of instances: where it is sent, and what the server answers. Refuses to send: who reports knows how long to try, and what to keep."""

import msgspec

PATH = "/api/v2/instances"


class _Refused(msgspec.Struct):
    message: str


class _Result(msgspec.Struct):
    refused: _Refused | None = None


class _Results(msgspec.Struct):
    results: list[_Result]


def refusals(answer: bytes) -> list[str | None]:
    """Of each report, in their order, why it was refused; None where it was taken. `msgspec.DecodeError` where it is no such answer."""
    results = msgspec.json.decode(answer, type=_Results).results
    return [each.refused.message if each.refused is not None else None for each in results]
