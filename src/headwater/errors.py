"""Every error Headwater raises on purpose, on one screen.

    HeadwaterError                 code, permanent
    ├── InvalidEvent               invalid_event        no identity, or not JSON: the same bytes will never be accepted
    ├── InvalidManifest            invalid_manifest     a dk.yaml that cannot be run; carries file, line, field
    ├── InvalidQuestion            invalid_question     a parameter that cannot be understood
    ├── InvalidChange              invalid_change       what a person says of a dataset or job makes no sense, or a tag's value does not fit
    ├── Unprocessable              unprocessable        a body that was read and lacks what it needs; carries `errors`
    ├── NotFound                   not_found            what was asked for is not known here
    ├── Ambiguous                  ambiguous            a name that means several things; carries the candidates
    ├── PortInUse                  port_in_use          something else listens where Headwater should
    ├── NotInstalled               not_installed        a part that an extra brings is missing; carries the command that installs it
    ├── TooLarge                   too_large            a body over the limit
    ├── DatabaseRefused            database_refused     PostgreSQL refused the statement itself: trying again will not help
    ├── DatabaseUnavailable        database_unavailable retryable: not reachable, restarting, or out of connections
    │   └── StaleGeneration        stale_generation     retryable: another process changed what this one remembers
    ├── Overloaded                 overloaded           retryable: more is waiting to be written than this server takes on
    └── ServerUnavailable          server_unavailable   retryable: a Headwater server did not answer

`permanent` decides everything downstream: 4xx or 503, dead letter or retry, exit 1 or "try again".
`code` is stable and part of the API; the message says what, with which value, and what to do.
"""

from typing import ClassVar


class HeadwaterError(Exception):
    """Base of the tree. `detail` is a JSON-ready mapping with the values the message speaks of."""

    code: ClassVar[str] = "error"
    permanent: ClassVar[bool] = True

    def __init__(self, message: str, **detail: object) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail


class InvalidEvent(HeadwaterError):
    code = "invalid_event"


class InvalidManifest(HeadwaterError):
    code = "invalid_manifest"


class InvalidQuestion(HeadwaterError):
    code = "invalid_question"


class InvalidChange(HeadwaterError):
    code = "invalid_change"


class Unprocessable(HeadwaterError):
    code = "unprocessable"


class NotFound(HeadwaterError):
    code = "not_found"


class Ambiguous(HeadwaterError):
    code = "ambiguous"


class PortInUse(HeadwaterError):
    code = "port_in_use"


class NotInstalled(HeadwaterError):
    code = "not_installed"


class TooLarge(HeadwaterError):
    code = "too_large"


class DatabaseRefused(HeadwaterError):
    code = "database_refused"


class DatabaseUnavailable(HeadwaterError):
    code = "database_unavailable"
    permanent = False


class StaleGeneration(DatabaseUnavailable):
    code = "stale_generation"


class Overloaded(HeadwaterError):
    code = "overloaded"
    permanent = False


class ServerUnavailable(HeadwaterError):
    code = "server_unavailable"
    permanent = False
