"""Every error Headwater raises on purpose, on one screen.

    HeadwaterError                 code, permanent
        ├── InvalidEvent               invalid_event        an event without an identity, or not JSON: the same bytes are never accepted
        ├── InvalidEncoding            invalid_encoding     a message that cannot be unpacked: broken gzip, or an unknown encoding
        ├── InvalidManifest            invalid_manifest     a dk.yaml that cannot be run; carries file, line, field
        ├── InvalidSettings            invalid_settings     HEADWATER_ variables with invalid values, by name
        ├── InvalidPrices              invalid_prices       an invalid price list of the query log; carries the field
        ├── InvalidQuestion            invalid_question     an invalid parameter
        ├── InvalidChange              invalid_change       metadata that is contradictory or empty, or a value that does not fit its tag
        ├── InvalidCalendar            invalid_calendar     invalid periods of an entity, or a time outside them
        ├── InvalidPeriod              invalid_period       a text that names no period of its calendar
        ├── InvalidDates               invalid_dates        invalid `dates` of a dependency; carries text and column
    ├── InvalidEntities            invalid_entities     entities that do not fit together: unknown names, cycles without lag; carries `problems`
        ├── InvalidStatus              invalid_status       an impossible report of instances: an undeclared state, a check of a missing instance
        ├── NotReady                   not_ready            retryable: an input of an instance is missing or wrong; carries `problems`
    ├── InvalidPolicies            invalid_policies     policies that cannot be read; carries `problems`
    ├── InvalidRules               invalid_rules        rules of alerts that cannot be read; carries `problems`
    ├── InvalidPlan                invalid_plan         a backfill that cannot be planned as asked: contradicting producers, no order
        ├── Unprocessable              unprocessable        a readable body that lacks required fields; carries `errors`
        ├── NotFound                   not_found            the requested thing does not exist here
        ├── Ambiguous                  ambiguous            a name with several meanings; carries the candidates
        ├── UnreadableContent          unreadable_content   a file that is damaged, truncated or unreadable; carries path and offset
        ├── ContentChanged             content_changed      retryable: a file changed while it was read
        ├── PortInUse                  port_in_use          another program listens on the address
        ├── NotInstalled               not_installed        a missing extra; carries the command that installs it
    ├── TooLarge                   too_large            a body over the limit
        ├── Unauthenticated            unauthenticated      the request has no identity: send a key or a token, or sign in
        ├── Forbidden                  forbidden            the caller is known and lacks the role
        ├── NotSecured                 not_secured          the server would be open to a network, which must be set explicitly
        ├── Misdirected                misdirected          a request for a host that the server does not answer to
        ├── SecretKeyDiffers           secret_key_differs   another key encrypted the secrets in this database
        ├── SignInFailed               sign_in_failed       the identity provider or its answer cannot be trusted
    ├── ProviderUnavailable        provider_unavailable retryable: the identity provider did not answer
        ├── TooSlow                    too_slow             retryable: the body did not arrive in time
        ├── TimedOut                   timed_out            retryable: the request exceeded its time limit
        ├── RestoreRefused             restore_refused      a restore that would replace events, or run under a running server
        ├── ReplayRefused              replay_refused       a replay until a time outside the log, or into a database with other content
    ├── LogIncomplete              log_incomplete       a rebuild that would lose what retention dropped from the log
        ├── DatabaseRefused            database_refused     PostgreSQL refused the statement itself: a retry does not help
    ├── DatabaseUnavailable        database_unavailable retryable: not reachable, restarting, or out of connections
        │   └── StaleGeneration        stale_generation     retryable: another process changed what this process has cached
        ├── InvalidStore               invalid_store        a pipeline's folder that is damaged, or written by a newer Headwater
        ├── UnreachableFolder          unreachable_folder   a path that this kind of Spark session cannot reach
        ├── SparkUnavailable           spark_unavailable    retryable: the configured Spark does not answer
        ├── StoreChanged               store_changed        retryable: another process changed the pipeline's tables during the run
    ├── FacetsNotUnderstood        facets_not_understood a server stored what the pipeline sent and understood nothing of it
    ├── StageFailed                stage_failed         retryable: a stage of the pipeline failed; the next call goes on after the last complete one
    ├── BrokerUnavailable          broker_unavailable   retryable: RabbitMQ is not reachable, restarting, or does not confirm
        ├── Overloaded                 overloaded           retryable: too many requests are being answered, or too much waits to be written
    └── ServerUnavailable          server_unavailable   retryable: a Headwater server did not answer

`permanent` decides what callers do: 4xx or 503, dead letter or retry, exit 1 or "try again".
`code` is stable and part of the API. The message says what is wrong, with the value, and what to do.
"""

from typing import ClassVar


class HeadwaterError(Exception):
    """Base of the tree. `detail` is a JSON-ready mapping with the values that the message quotes."""

    code: ClassVar[str] = "error"
    permanent: ClassVar[bool] = True

    def __init__(self, message: str, **detail: object) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail


def error_types() -> dict[str, type[HeadwaterError]]:
    """Return every error class by its code."""
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


class InvalidPolicies(HeadwaterError):
    code = "invalid_policies"


class InvalidRules(HeadwaterError):
    code = "invalid_rules"


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


class Misdirected(HeadwaterError):
    code = "misdirected"


class SecretKeyDiffers(HeadwaterError):
    code = "secret_key_differs"


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


class FacetsNotUnderstood(HeadwaterError):
    code = "facets_not_understood"


class ServerUnavailable(HeadwaterError):
    code = "server_unavailable"
    permanent = False
