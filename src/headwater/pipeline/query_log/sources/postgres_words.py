"""The words by which PostgreSQL's messages are known, in the languages that `lc_messages` may choose, and the same message in English.

The words are those of the server's own translations (version 15), read off what it logged. A language that is not listed is known by its form, a
duration with a unit behind foreign words, and its lines are quarantined as `other_language`: none is silently skipped.
"""

from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (its usual name)


@dataclass(frozen=True, slots=True)
class Language:
    """`severities`: LOG ERROR FATAL PANIC WARNING NOTICE INFO DEBUG; `parts`: STATEMENT DETAIL HINT CONTEXT QUERY LOCATION, the lines of one message.
    The others are what the words in `ENGLISH` are; `|` between two that are used for one.
    `cancelled`: how the message begins of a statement that ran out of time or that a user stopped.
    """

    severities: str
    parts: str
    duration: str
    unit: str
    statement: str
    execute: str
    fetch: str
    prepare: str
    cancelled: tuple[str, ...] = ()


ENGLISH: Final = Language(
    "LOG ERROR FATAL PANIC WARNING NOTICE INFO DEBUG", "STATEMENT DETAIL HINT CONTEXT QUERY LOCATION",
    "duration", "ms", "statement", "execute", "execute fetch from", "prepare",
    ("canceling statement due to statement timeout", "canceling statement due to user request"),
)  # fmt: skip
# In the order of `ENGLISH`'s fields; `_` in a word is a blank.
OTHERS: Final = (
    Language(
        "LOG FEHLER FATAL PANIK WARNUNG HINWEIS INFO DEBUG",
        "ANWEISUNG DETAIL TIPP ZUSAMMENHANG ANFRAGE ORT",
        "Dauer", "ms", "Anweisung", "Ausführen", "Ausführen Fetch von", "Vorbereiten",
        ("storniere Anfrage wegen Zeitüberschreitung der Anfrage", "storniere Anfrage wegen Benutzeraufforderung"),
    ),
    Language(
        "LOG ERROR FATAL PANIC WARNING NOTICE INFO DEBUG",
        "SENTENCIA DETALLE HINT CONTEXTO CONSULTA UBICACIÓN",
        "duración", "ms", "sentencia", "ejecutar", "ejecutar fetch desde", "prepare",
        ("cancelando la sentencia debido a que se agotó el tiempo", "cancelando la sentencia debido a una petición"),
    ),
    Language(
        "LOG ERREUR FATAL PANIC ATTENTION NOTICE INFO DEBUG",
        "INSTRUCTION DÉTAIL ASTUCE CONTEXTE REQUÊTE EMPLACEMENT",
        "durée", "ms", "instruction", "exécute", "exécute fetch à partir de", "préparation",
        ("annulation de la requête à cause du délai écoulé pour l'exécution", "annulation de la requête à la demande de l'utilisateur"),
    ),
    Language(
        "LOG ERRORE FATALE PANICO ATTENZIONE NOTIFICA INFO DEBUG",
        "ISTRUZIONE DETTAGLI SUGGERIMENTO CONTESTO QUERY POSIZIONE",
        "durata", "ms", "istruzione", "esecuzione di", "esecuzione di fetch da", "preparazione",
        ("annullamento dell'istruzione a causa di timeout", "annullamento dell'istruzione su richiesta dell'utente"),
    ),
    Language(
        "LOG ERROR FATAL PANIC WARNING NOTICE INFO DEBUG",
        "文 詳細 ヒント 文脈 問い合わせ 場所",
        "期間", "ミリ秒", "文", "実行", "取り出し実行", "準備",
        ("ステートメントのタイムアウトのため", "ユーザーからの要求により文をキャンセル"),
    ),
    Language(
        "ჟურნალი შეცდომა ფატალური პანიკა გაფრთხილება გაფრთხილება ინფორმაცია გამართვა",
        "ოპერატორი დეტალები მინიშნება კონტექსტი მოთხოვნა მდებარეობა",
        "ხანგრძლივობა", "მწმ", "გამოსახულება|ოპერატორი", "გაშვება", "execute fetch from", "მომზადება",
    ),
    Language(
        "로그 오류 치명적오류 손상 경고 알림 정보 디버그",
        "명령_구문 상세정보 힌트 내용 쿼리 위치",
        "실행시간", "ms", "명령 구문", "쿼리실행", "자료뽑기", "prepare",
        ("명령실행시간 초과로 작업을 취소합니다", "사용자 요청에 의해 작업을 취소합니다"),
    ),
    Language(
        "СООБЩЕНИЕ ОШИБКА ВАЖНО ПАНИКА ПРЕДУПРЕЖДЕНИЕ ЗАМЕЧАНИЕ ИНФОРМАЦИЯ ОТЛАДКА",
        "ОПЕРАТОР ПОДРОБНОСТИ ПОДСКАЗКА КОНТЕКСТ ЗАПРОС ПОЛОЖЕНИЕ",
        "продолжительность", "мс", "оператор", "выполнение", "выборка из", "подготовка",
        ("выполнение оператора отменено из-за тайм-аута", "выполнение оператора отменено по запросу пользователя"),
    ),
    Language(
        "LOGG FEL FATALT PANIK VARNING NOTIS INFO DEBUG",
        "SATS DETALJ TIPS KONTEXT FRÅGA PLATS",
        "varaktighet", "ms", "sats", "kör", "kör hämtning från", "prepare",
        ("avbryter sats på grund av sats-timeout", "avbryter sats på användares begäran"),
    ),
    Language(
        "ЗАПИСУВАННЯ ПОМИЛКА ФАТАЛЬНО ПАНІКА ПОПЕРЕДЖЕННЯ ПОВІДОМЛЕННЯ ІНФОРМАЦІЯ НАЛАГОДЖЕННЯ",
        "ІНСТРУКЦІЯ ВІДОМОСТІ УКАЗІВКА КОНТЕКСТ ЗАПИТ РОЗТАШУВАННЯ",
        "тривалість", "мс", "оператор", "виконувати", "виконати витягнення з", "підготовка",
        ("виконання оператора скасовано через тайм-аут", "виконання оператора скасовано по запиту користувача"),
    ),
    Language(
        "日志 错误 致命错误 比致命错误还过分的错误 警告 注意 信息 调试",
        "语句 详细信息 提示 上下文 查询 位置",
        "执行时间", "ms", "语句", "执行", "执行FETCH操作", "准备",
        ("由于语句执行超时，正在取消查询命令", "由于用户请求而正在取消查询"),
    ),
)  # fmt: skip
_ALL: Final = (ENGLISH, *OTHERS)
PARTS: Final = tuple(ENGLISH.parts.split())


def _names(words: str) -> list[str]:
    return [word.replace("_", " ") for word in words.split()]


def _any_of(words: list[str]) -> str:
    """A pattern of the words, the longest first: one may begin with another."""
    return "|".join(sorted(dict.fromkeys(words), key=lambda word: (-len(word), word)))


def _severity_names() -> dict[str, str]:
    """The English word for each word of severity and for each part of a message."""
    named: dict[str, str] = {}
    for language in _ALL:
        told = zip(_names(language.severities), ENGLISH.severities.split(), strict=True)
        parts = zip(_names(language.parts), ENGLISH.parts.split(), strict=True)
        for word, english in (*told, *parts):
            named.setdefault(word, english)
    return named


_NAMES: Final = _severity_names()
SEVERITIES: Final = _any_of([f"{word}[1-5]?" if word == "DEBUG" else word for word in _NAMES])
_COLON: Final = "[ \u00a0]?:[ \u00a0]"
_UNITS: Final = _any_of([one.unit for one in OTHERS])
_DURATIONS: Final = _any_of([*(one.duration for one in OTHERS), "수행시간"])
_DURATION: Final = rf"^(?:{_DURATIONS})[ \u00a0]?:?[ \u00a0]([0-9]+(?:\.[0-9]+)?) (?:{_UNITS})s?(?:,|(?=$|\s))"
_LEAD: Final = r"(duration: [0-9.]+ ms\s+|)"
_STATEMENT: Final = rf"^{_LEAD}(?:{_any_of([one.statement for one in OTHERS])}){_COLON}"
_EXECUTE: Final = rf"^{_LEAD}(?!(?:{_any_of([one.fetch for one in _ALL])}))(?:{_any_of([one.execute for one in OTHERS])})\s*([^:\n]*?){_COLON}"
_PREPARE: Final = rf"^(?:{_any_of([one.prepare for one in OTHERS])}){_COLON}"
_IN_ENGLISH: Final = r"^(?:duration|statement|execute)\b"
_UNKNOWN: Final = r"^\p{L}[\p{L} ]{2,40}[ \u00a0]?:[ \u00a0][0-9]+\.[0-9]{3} [\p{L}]{1,12}(?:$|[,\s])"
_CANCELLED: Final = rf"^(?:{_any_of([start.replace('.', '[.]') for one in _ALL for start in one.cancelled])})"
_SQLSTATE: Final = r"^([0-9A-Z]{5}): "
QUERY_CANCELED: Final = "57014"


def severity(word: Column) -> Column:
    """Return the English name of a severity, or of a part of a message; a word of no language stays."""
    named = F.create_map(*(F.lit(each) for pair in _NAMES.items() for each in pair))
    return F.coalesce(F.try_element_at(named, word), word)


def message(column: Column) -> Column:
    """Return the message with the English words before a duration and a statement, whatever its language."""
    timed = F.regexp_replace(column, _DURATION, "duration: $1 ms")
    stated = F.regexp_replace(timed, _STATEMENT, "$1statement: ")
    executed = F.regexp_replace(stated, _EXECUTE, "$1execute $2: ")
    return F.when(column.rlike(_IN_ENGLISH), column).otherwise(executed)


def detail(column: Column) -> Column:
    """Return the detail, with the English word before a prepared statement."""
    return F.regexp_replace(column, _PREPARE, "prepare: ")


def unknown_language(column: Column) -> Column:
    """Return whether a message in no known language has the form of one with a duration."""
    return F.coalesce(column.rlike(_UNKNOWN) & ~column.rlike(_IN_ENGLISH), F.lit(False))


def sql_state(column: Column) -> Column:
    """Return the SQLSTATE that `log_error_verbosity = verbose` puts before a message, or the one that a cancelled statement has; else null."""
    return F.coalesce(
        F.nullif(F.regexp_extract(column, _SQLSTATE, 1), F.lit("")), F.when(column.rlike(_CANCELLED), QUERY_CANCELED)
    )


def without_state(column: Column) -> Column:
    """Return the message without the SQLSTATE before it."""
    return F.regexp_replace(column, _SQLSTATE, "")
