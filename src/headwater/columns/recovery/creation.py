"""CREATE with properties the parser does not know: to the plain `CREATE … AS query` it does, or read off its words when there is no query."""

from typing import Any

import msgspec
from sqlglot.tokenizer_core import TokenType

from headwater.columns import form
from headwater.columns.lowering.source import everything
from headwater.columns.recovery.directly import Read, copied
from headwater.columns.recovery.phrase import Phrase, inserted_token

_OBJECTS = frozenset({"TABLE", "VIEW", "PROJECTION"})
_TEMPORARY = frozenset({"TEMP", "TEMPORARY", "VOLATILE"})
_COPIES = frozenset({"CLONE", "COPY", "LIKE"})
_COPIES_BY_NAME = frozenset({"clickhouse", "teradata", "", "snowflake", "oracle"})
"""Dialects in which `CREATE TABLE a AS b` is a copy of b."""
_OPTIONS = frozenset(
    "SKEWED BY ON STORED AS DIRECTORIES CLUSTERED SORTED SORT INTO BUCKETS ROW FORMAT SERDE DELIMITED FIELDS COLLECTION ITEMS MAP KEYS LINES "
    "TERMINATED ESCAPED NULL DEFINED WITH SERDEPROPERTIES TBLPROPERTIES INPUTFORMAT OUTPUTFORMAT INPUTDRIVER OUTPUTDRIVER LOCATION COMMENT "
    "PARTITIONED PARTITION HASH RANGE LIST PARTITIONS ENGINE DEFAULT CHARSET CHARACTER SET COLLATE AUTO_INCREMENT ROW_FORMAT TABLESPACE "
    "DISTSTYLE DISTKEY SORTKEY COMPOUND INTERLEAVED KEY EVEN ALL AUTO ENCODE BACKUP YES NO CLUSTER USING OPTIONS PRIMARY UNIQUE DUPLICATE "
    "AGGREGATE INDEX DISTRIBUTED RANDOM REPLICATED PROPERTIES ORDER TTL SETTINGS SAMPLE DATA RETENTION IN COPY GRANTS CACHED UNCACHED REPLICATION "
    "UNCOMPRESSED COMPRESSED SPEC ROWS COMMIT PRESERVE DELETE DROP STORAGE PCTFREE PCTUSED INITRANS MAXTRANS LOGGING NOLOGGING COMPRESS "
    "NOCOMPRESS PARALLEL NOPARALLEL CACHE NOCACHE MONITORING SEGMENT CREATION IMMEDIATE DEFERRED ORGANIZATION HEAP EXTERNAL TEXTFILE "
    "SEQUENCEFILE RCFILE ORC PARQUET AVRO JSONFILE KUDU ICEBERG FALLBACK JOURNAL CHECKSUM FREESPACE PERCENT KSAFE UNSEGMENTED SEGMENTED "
    "NODES NODE OFFSET LESS THAN VALUES VALUE MAXVALUE INTERVAL LABEL FILEGROUP TEXTIMAGE_ON FILESTREAM_ON MEMORY_OPTIMIZED DURABILITY "
    "PURGE CONTAINS SQL WITHOUT ROWID STRICT OF TIER HOT COLD DELTA TRANSACTIONAL BUFFERPOOL READ WRITE ONLY MINUS INCLUDING EXCLUDING "
    "INVISIBLE VISIBLE RETENTION_TIME CHANGE_TRACKING CONNECTION REMOTE METADATA CASCADE RESTRICT DATABLOCKSIZE BYTES MERGEBLOCKRATIO "
    "SERVER LOG DUAL BEFORE AFTER LOCAL GLOBAL TEMPORARY TABLE STRUCTURED UNDER".split()
)
# Objects that are created with a name and words of their own, which say nothing about columns or tables of lineage.
_SILENT = frozenset(
    (
        "AGGREGATE APPLICATION ASSEMBLY CAST CATALOG CLUSTER COLLATION CONNECTION CREDENTIAL DATABASE DOMAIN EXTENSION FILE INDEX "
        "INTEGRATION LANGUAGE LIBRARY LOGIN MASKING NETWORK NOTIFICATION OPERATOR POLICY PUBLICATION RESOURCE ROLE ROW SCHEMA SEARCH "
        "SECRET SECURITY SEQUENCE SERVER SERVICE SHARE SOURCE STAGE STATISTICS STORAGE SUBSCRIPTION TABLESPACE TAG TYPE USER VECTOR "
        "WAREHOUSE FULLTEXT SPATIAL BITMAP UNIQUE CLUSTERED NONCLUSTERED COLUMNSTORE METRIC SESSION API GIT IMAGE COMPUTE QUOTA PROFILE "
        "ROUTINE DIRECTORY CONTEXT MASTER CERTIFICATE ENDPOINT QUEUE CONTRACT MESSAGE AVAILABILITY DEFAULT PARTITION INDEXTYPE FLASHBACK "
        "OUTLINE SHARED JAVA EDITION PLUGGABLE BIGFILE SMALLFILE MLE ASYMMETRIC SYMMETRIC XML BROKER REMOTE WORKLOAD LOCKDOWN DISKGROUP "
        "CONTROLFILE SPFILE PFILE ROLLBACK ACCESS TRANSFORM UNDO"
    ).split()
)


class Created(msgspec.Struct):
    """The head of a CREATE, before its query. `object`: the place of TABLE or VIEW; `after`: that behind the name and its columns."""

    kind: str
    object: int
    temporary: bool
    name_at: int
    after_name: int
    after: int
    columns: list[Any]
    recursive: bool
    own: list[Any] = []


def head(phrase: Phrase) -> Created | None:
    """The head of CREATE TABLE or VIEW in any of its kinds, None when this is neither."""
    if phrase.word(0) not in {"CREATE", "REPLACE", "DECLARE"}:
        return None
    mysql_view = bool({"ALGORITHM", "DEFINER", "SQL"} & set(phrase.words[1:4]))
    place = phrase.find(*_OBJECTS, end=min(phrase.size, 20 if mysql_view else 10))
    if place < 0 or (not mysql_view and any(not word.isalpha() for word in phrase.words[1:place])):
        return None
    before = set(phrase.words[1:place])
    if before & {
        "ON",
        "AS",
        "SCHEMA",
        "CATALOG",
        "FOR",
        "POLICY",
        "FUNCTION",
        "TRIGGER",
        "INDEX",
        "RULE",
        "STREAM",
        "SOURCE",
        "SINK",
    }:
        return None
    kind = "CREATE "
    if "MATERIALIZED" in before:
        kind += "MATERIALIZED "
    at = place + 1
    at = max(at, phrase.after(at, "IF", "NOT", "EXISTS"))
    if phrase.word(at) == "LOG" and "MATERIALIZED" in before:
        return None
    name, after_name = phrase.name(at)
    if not name and phrase.text(at) is None:
        return None
    after_name = max(after_name, at + 1)
    columns, after, own = _columns(phrase, after_name)
    return Created(
        kind + phrase.word(place),
        place,
        bool(before & _TEMPORARY),
        at,
        after_name,
        after,
        columns,
        "RECURSIVE" in before,
        own,
    )


def _columns(phrase: Phrase, place: int) -> tuple[list[Any], int, list[Any]]:
    """The tokens that name columns in a list, constraints left out; behind it; and those whose values the table makes itself."""
    if phrase.word(place) != "(" or phrase.starts_query(place):
        return [], place, []
    end = phrase.closing(place)
    found: list[Any] = []
    own: list[Any] = []
    counted = phrase.context.rule.parser in {"tsql", "fabric", "redshift"}
    for start, stop in phrase.entries(place + 1, end):
        if not phrase.declares_column(start):
            continue
        found.append(phrase.tokens[start])
        for at in range(start + 1, stop):
            word, after = phrase.words[at], phrase.word(at + 1)
            if phrase.depths[at] != phrase.depths[start]:
                continue
            computed = word == "AS" and after == "(" and phrase.word(at - 1) != "BY"
            first = at == start + 1 and word in {"AS", "ROWVERSION", "TIMESTAMP"}
            if computed or (counted and (word == "IDENTITY" or first)):
                own.append(phrase.tokens[start])
                break
    return found, end + 1, own


def _partitioned(phrase: Phrase, start: int) -> list[Any]:
    """Columns that PARTITIONED BY declares with their types (Hive)."""
    place = phrase.find("PARTITIONED", "PARTITIONED BY", start=start)
    opened = max(phrase.after(place, "PARTITIONED", "BY"), phrase.after(place, "PARTITIONED BY")) if place >= 0 else -1
    if opened < 0 or phrase.word(opened) != "(":
        return []
    entries = phrase.entries(opened + 1, phrase.closing(opened))
    return [
        phrase.tokens[first]
        for first, behind in entries
        if behind > first + 1 and phrase.is_name(first) and phrase.word(first + 1) != "("
    ]


def _doubt_options(phrase: Phrase, start: int) -> None:
    """A word behind the columns that no known option has may be about the columns."""
    before = ""
    for at in range(start, phrase.size):
        word = phrase.words[at]
        if phrase.depths[at] == 0 and word and (word[0].isalpha()):
            free = before in {
                "AS",
                "BY",
                "=",
                "ENGINE",
                "FORMAT",
                "ON",
                "IN",
                "INTO",
                "TABLESPACE",
                "SERDE",
                "FROM",
                "WITH",
                "SERVER",
            }
            if not (free or phrase.word(at + 1) in {"=", "("} or set(word.split()) <= _OPTIONS):
                phrase.context.warn(f"not understood: {word} behind the columns of the table")
                return
        before = word or "="


def query_place(phrase: Phrase, start: int) -> int:
    """Return the place where the query of a CREATE begins, -1 when it has none."""
    for place in range(start, phrase.size):
        if phrase.depths[place]:
            continue
        word = phrase.words[place]
        if word == "AS" and phrase.starts_query(place + 1):
            return place + 1
        if word == "SELECT":
            return place
    return -1


def plain(phrase: Phrase, found: Created, place: int, end: int) -> list[Any]:
    """The tokens of `CREATE VIEW name (columns) AS query`, which has the same column lineage for any created object."""
    first = phrase.tokens[0]
    name = phrase.tokens[found.name_at : found.after_name]
    if phrase.context.rule.parser == "clickhouse" and (to := phrase.find("TO", start=found.after, end=place)) > 0:
        _, after = phrase.name(to + 1)  # The view's rows are kept in another table.
        name = phrase.tokens[to + 1 : after]
    listed: list[Any] = []
    for column in found.columns:
        listed += [inserted_token(TokenType.COMMA, ",", first), column]
    if listed:
        listed = [
            inserted_token(TokenType.L_PAREN, "(", first),
            *listed[1:],
            inserted_token(TokenType.R_PAREN, ")", first),
        ]
    query = phrase.tokens[place:end]
    if found.recursive:
        query = [
            inserted_token(TokenType.WITH, "WITH", first),
            inserted_token(TokenType.RECURSIVE, "RECURSIVE", first),
            *name,
            *listed,
            inserted_token(TokenType.ALIAS, "AS", first),
            inserted_token(TokenType.L_PAREN, "(", first),
            *query,
            inserted_token(TokenType.R_PAREN, ")", first),
            inserted_token(TokenType.SELECT, "SELECT", first),
            inserted_token(TokenType.STAR, "*", first),
            inserted_token(TokenType.FROM, "FROM", first),
            *name[-1:],
        ]
        listed = []
    return [
        inserted_token(TokenType.CREATE, "CREATE", first),
        *([inserted_token(TokenType.TEMPORARY, "TEMPORARY", first)] if found.temporary else []),
        inserted_token(TokenType.VIEW, "VIEW", first),
        *name,
        *listed,
        inserted_token(TokenType.ALIAS, "AS", first),
        *query,
    ]


def bare(phrase: Phrase, found: Created) -> Read:
    """CREATE of a table without a query: as a copy of another, over files, or with nothing but columns."""
    name, _ = phrase.place_or_path(found.name_at)[0], 0
    declared = [*found.columns, *_partitioned(phrase, found.after)]
    columns, own = (
        [phrase.context.fold(column.text, column.token_type is TokenType.IDENTIFIER) for column in listed]
        for listed in (declared, found.own)
    )
    for place in range(found.after_name, phrase.size):
        word = phrase.words[place]
        if word in _COPIES and phrase.depths[place] <= 1 and (place < found.after or not phrase.depths[place]):
            at = max(place + 1, phrase.after(place + 1, "OF|AS?"))
            if phrase.after(at, "PARQUET|ORC|FILE|AVRO") > 0 and phrase.text(at + 1) is not None:
                return found.kind, form.ChangeForm([("CREATE", name, ())])
            other, _ = phrase.name(at)
            if other:
                action = "LIKE" if word == "LIKE" else "CLONE"
                return found.kind, form.ChangeForm([(action, name, other)], None, found.temporary)
        at = phrase.after(place, "AS", "REPLICA", "OF")
        if (
            at < 0
            and word == "AS"
            and not phrase.depths[place]
            and phrase.is_name(place + 1)
            and phrase.word(place + 1) not in _COPIES
            and phrase.word(place - 1) not in {"STORED", "GENERATED", "EXECUTE", "SERDE"}
            and phrase.context.rule.parser in _COPIES_BY_NAME
        ):
            at = place + 1
        if at > 0 and (other := phrase.name(at)[0]):
            if at == place + 1 and ("NO" in phrase.words[at:] or phrase.context.rule.parser == "clickhouse"):
                return found.kind, form.ChangeForm([("LIKE", name, other)], None, found.temporary)
            return found.kind, copied(name, other, "CREATE", creates=True)
        if (at := phrase.after(place, "PARTITION", "OF")) > 0:
            parent = phrase.name(at)[0]
            return found.kind, form.ChangeForm([("LIKE", name, parent), ("PART", name, parent)])
    _doubt_options(phrase, found.after)
    change = form.ChangeForm([("CREATE", name, ())], columns or None, found.temporary, own=own)
    if "EXTERNAL" in phrase.words[: found.object] and (path := _location(phrase, found.after)) is not None:
        files = everything([form.Item(form.TableSource((path,), True))])
        return found.kind, form.SeveralForm([change, form.WriteForm(form.Target(name), "APPEND", files, by_name=True)])
    return found.kind, change


def _location(phrase: Phrase, start: int) -> str | None:
    for place in range(start, phrase.size):
        if phrase.words[place] in {"LOCATION", "URIS"}:
            at = place + 1
            while phrase.word(at) in {"=", "[", "("}:
                at += 1
            if (path := phrase.text(at) or phrase.stage(at)[0]) is not None:
                return path or None
    return None


def other_object(phrase: Phrase) -> Read | None:
    """CREATE of what is neither table nor view: streams, synonyms and sinks are fed by a table; most say nothing."""
    if phrase.word(0) != "CREATE":
        return None
    place = 1
    while phrase.word(place) in {"OR", "REPLACE", "ALTER", "PUBLIC", "REFRESH", "EDITIONABLE", "TEMP", "TEMPORARY"}:
        place += 1
    what = phrase.word(place)
    at = max(place + 1, phrase.after(place + 1, "IF", "NOT", "EXISTS"))
    name, after = phrase.name(at)
    source: tuple[str, ...] = ()
    if what == "STREAM" and (on := phrase.find("ON", start=after)) > 0:
        at = max(on + 1, phrase.after(on + 1, "EXTERNAL|DYNAMIC|EVENT?", "TABLE|VIEW"))
        source, _, _ = phrase.place_or_path(max(at, phrase.after(on + 1, "STAGE")))
    elif what == "SYNONYM" and phrase.word(after) == "FOR":
        source, _ = phrase.name(after + 1)
    elif what == "SINK" and (way := phrase.find("FROM", start=after)) > 0:
        source, _ = phrase.name(way + 1)
        if phrase.word(after) == "INTO":
            return "CREATE SINK", copied(phrase.name(after + 1)[0], source)
    if name and source:
        return f"CREATE {what}", copied(name, source, "CREATE", creates=True)
    if "POLICY" in phrase.words[place : place + 3] or "LOG" in phrase.words[place : place + 4]:
        return " ".join(["CREATE", *phrase.words[place : place + 2]]), None
    if (
        what in _SILENT
        or "INDEX" in phrase.words[place : place + 4]
        or phrase.word(place + 1) in {"DATA", "SCHEMA", "CATALOG"}
        or (what == "EVENT" and phrase.word(place + 1) in {"SESSION", "NOTIFICATION"})
        or (what == "RULE" and phrase.context.rule.parser == "tsql")
    ):
        kind = "CREATE EXTERNAL " + phrase.word(place + 1) if what == "EXTERNAL" else f"CREATE {what}"
        return kind, None
    return None
