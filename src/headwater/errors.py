"""Every error Headwater raises on purpose, on one screen.

    HeadwaterError                 code, permanent
    ├── InvalidEvent               invalid_event        no identity, or not JSON: the same bytes will never be accepted
    ├── InvalidEncoding            invalid_encoding     a message that does not unpack: broken gzip, or an unknown encoding
    ├── InvalidManifest            invalid_manifest     a dk.yaml that cannot be run; carries file, line, field
    ├── InvalidSettings            invalid_settings     a HEADWATER_ variable that cannot be understood, by name
    ├── InvalidPrices              invalid_prices       a price list of the query log that cannot be understood; carries the field
    ├── InvalidQuestion            invalid_question     a parameter that cannot be understood
    ├── InvalidChange              invalid_change       what a person says of a dataset or job makes no sense, or a tag's value does not fit
    ├── InvalidCalendar            invalid_calendar     what is said of an entity's periods makes no sense, or a time is outside them
    ├── InvalidPeriod              invalid_period       a text that names no period of its calendar
    ├── InvalidDates               invalid_dates        a dependency's `dates` that cannot be understood; carries text and column
    ├── InvalidEntities            invalid_entities     entities that do not fit together: unknown names, cycles without lag; carries `problems`
    ├── InvalidStatus              invalid_status       a report of instances that cannot be: an undeclared state, a check of what is not there
    ├── NotReady                   not_ready            retryable: what an instance needs is not there, or is wrong; carries `problems`
    ├── InvalidPlan                invalid_plan         a backfill that cannot be planned as asked: contradicting producers, no order
    ├── Unprocessable              unprocessable        a body that was read and lacks what it needs; carries `errors`
    ├── NotFound                   not_found            what was asked for is not known here
    ├── Ambiguous                  ambiguous            a name that means several things; carries the candidates
    ├── UnreadableContent          unreadable_content   a file that is damaged, cut off or cannot be read; carries path and offset
    ├── ContentChanged             content_changed      retryable: a file was changed while it was read
    ├── PortInUse                  port_in_use          something else listens where Headwater should
    ├── NotInstalled               not_installed        a part that an extra brings is missing; carries the command that installs it
    ├── TooLarge                   too_large            a body over the limit
    ├── Unauthenticated            unauthenticated      the request identifies no one: send a key or a token, or sign in
    ├── Forbidden                  forbidden            who asks is known and may not do this
    ├── NotSecured                 not_secured          the server would be open to a network, which must be asked for by name
    ├── SignInFailed               sign_in_failed       the identity provider, or what came back from it, is not to be trusted
    ├── ProviderUnavailable        provider_unavailable retryable: the identity provider did not answer
    ├── TooSlow                    too_slow             retryable: the body did not arrive in time
    ├── TimedOut                   timed_out            retryable: the answer took longer than an answer may
    ├── RestoreRefused             restore_refused      a restore that would replace events, or run under a running server
    ├── ReplayRefused              replay_refused       a replay until a time that is none of the log's, or into a database that holds something else
    ├── LogIncomplete              log_incomplete       a rebuild that would lose what retention dropped from the log
    ├── DatabaseRefused            database_refused     PostgreSQL refused the statement itself: trying again will not help
    ├── DatabaseUnavailable        database_unavailable retryable: not reachable, restarting, or out of connections
    │   └── StaleGeneration        stale_generation     retryable: another process changed what this one remembers
    ├── InvalidStore               invalid_store        a pipeline's folder that is damaged, or that a newer Headwater wrote
    ├── UnreachableFolder          unreachable_folder   a path this kind of Spark session cannot reach
    ├── SparkUnavailable           spark_unavailable    retryable: the Spark that was named does not answer
    ├── StoreChanged               store_changed        retryable: another process changed the pipeline's tables meanwhile
    ├── StageFailed                stage_failed         retryable: a stage of the pipeline did not end; calling again goes on from the last that did
    ├── BrokerUnavailable          broker_unavailable   retryable: RabbitMQ is not reachable, restarting, or does not confirm
    ├── Overloaded                 overloaded           retryable: more is being answered, or waits to be written, than this server takes on
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


def error_types() -> dict[str, type[HeadwaterError]]:
    """Every error of the tree by its code."""
    found: dict[str, type[HeadwaterError]] = {}
    waiting = [HeadwaterError]
    while waiting:
        kind = waiting.pop()
        found[kind.code] = kind
        waiting += kind.__subclasses__()
    return found


class InvalidEvent(HeadwaterError):
    code = "invalid_event"


class InvalidEncoding(HeadwaterError):
    code = "invalid_encoding"


class InvalidManifest(HeadwaterError):
    code = "invalid_manifest"


class InvalidSettings(HeadwaterError):
    code = "invalid_settings"


class InvalidPrices(HeadwaterError):
    code = "invalid_prices"


class InvalidQuestion(HeadwaterError):
    code = "invalid_question"


class InvalidChange(HeadwaterError):
    code = "invalid_change"


class InvalidCalendar(HeadwaterError):
    code = "invalid_calendar"


class InvalidPeriod(HeadwaterError):
    code = "invalid_period"


class InvalidDates(HeadwaterError):
    code = "invalid_dates"


class InvalidEntities(HeadwaterError):
    code = "invalid_entities"


class InvalidStatus(HeadwaterError):
    code = "invalid_status"


class NotReady(HeadwaterError):
    code = "not_ready"
    permanent = False


class InvalidPlan(HeadwaterError):
    code = "invalid_plan"


class Unprocessable(HeadwaterError):
    code = "unprocessable"


class NotFound(HeadwaterError):
    code = "not_found"


class Ambiguous(HeadwaterError):
    code = "ambiguous"


class UnreadableContent(HeadwaterError):
    code = "unreadable_content"


class ContentChanged(HeadwaterError):
    code = "content_changed"
    permanent = False


class PortInUse(HeadwaterError):
    code = "port_in_use"


class NotInstalled(HeadwaterError):
    code = "not_installed"


class TooLarge(HeadwaterError):
    code = "too_large"


class Unauthenticated(HeadwaterError):
    code = "unauthenticated"


class Forbidden(HeadwaterError):
    code = "forbidden"


class NotSecured(HeadwaterError):
    code = "not_secured"


class SignInFailed(HeadwaterError):
    code = "sign_in_failed"


class ProviderUnavailable(HeadwaterError):
    code = "provider_unavailable"
    permanent = False


class TooSlow(HeadwaterError):
    code = "too_slow"
    permanent = False


class TimedOut(HeadwaterError):
    code = "timed_out"
    permanent = False


class RestoreRefused(HeadwaterError):
    code = "restore_refused"


class ReplayRefused(HeadwaterError):
    code = "replay_refused"


class LogIncomplete(HeadwaterError):
    code = "log_incomplete"


class DatabaseRefused(HeadwaterError):
    code = "database_refused"


class DatabaseUnavailable(HeadwaterError):
    code = "database_unavailable"
    permanent = False


class StaleGeneration(DatabaseUnavailable):
    code = "stale_generation"


class InvalidStore(HeadwaterError):
    code = "invalid_store"


class UnreachableFolder(HeadwaterError):
    code = "unreachable_folder"


class SparkUnavailable(HeadwaterError):
    code = "spark_unavailable"
    permanent = False


class StoreChanged(HeadwaterError):
    code = "store_changed"
    permanent = False


class StageFailed(HeadwaterError):
    code = "stage_failed"
    permanent = False


class BrokerUnavailable(HeadwaterError):
    code = "broker_unavailable"
    permanent = False


class Overloaded(HeadwaterError):
    code = "overloaded"
    permanent = False


class ServerUnavailable(HeadwaterError):
    code = "server_unavailable"
    permanent = False
