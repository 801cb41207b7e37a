"""Statements that move or rename tables, set the session or load files, read off their words straight to a form: the parser has no tree for them."""

from headwater.columns import form
from headwater.columns.lowering.change import transaction
from headwater.columns.lowering.source import everything
from headwater.columns.lowering.table_function import listed
from headwater.columns.recovery import schemas
from headwater.columns.recovery.alteration import altered
from headwater.columns.recovery.phrase import Phrase

Read = tuple[str, form.Form | None]

# They say nothing about columns or tables that lineage keeps. A word alone, or two.
_SILENT = frozenset(
    (
        "ABORT ADD ANALYZE ANALYSE BACKUP BEGIN BT CHECKPOINT CLEAR CLOSE CLUSTER COLLECT COMMENT COMMIT COMPUTE CONNECT DBCC "
        "DEALLOCATE DELIMITER DENY DETACH DISCARD END ET FETCH FLUSH FORCE FSCK GENERATE GET GO GRANT HANDLER HELP "
        "INSTALL INVALIDATE KILL LIST LISTEN LOAD LOCK LS MSCK NOTIFY OPEN OPTIMIZE PRAGMA PRINT PURGE PUT RECONFIGURE REINDEX RELEASE RELOAD "
        "REMOVE REORG RESET REVOKE RM ROLLBACK SAVE SAVEPOINT SECURITY SHOW SHUTDOWN START STOP SYSTEM UNCACHE UNLISTEN UNLOCK VACUUM "
        "WAITFOR WATCH DISABLE ENABLE AUDIT NOAUDIT ASSOCIATE DISASSOCIATE ADMINISTER EXIT QUIT HOST DISCONNECT "
        " GOTO REVERT DESCRIBE DESC RAISERROR THROW CHANGE BREAK CONTINUE RESTORE FLASHBACK"
    ).split()
)
_ROUTINES = frozenset("CALL DO EXEC EXECUTE".split())
_SILENT_OBJECTS = frozenset(
    (
        "AGGREGATE ASSEMBLY AUTHORIZATION CAST CATALOG CERTIFICATE COLLATION CONNECTION CREDENTIAL DATABASE DOMAIN EXTENSION FILE FORMAT "
        "FULLTEXT FUNCTION INDEX INTEGRATION JOB LANGUAGE LOGIN MACRO MASKING METRIC NETWORK OPERATOR PARTITION PIPE POLICY PROCEDURE "
        "PUBLICATION QUEUE RESOURCE ROLE ROUTINE ROW SCHEDULE SCHEMA SEARCH SECRET SEQUENCE SERVER SESSION SHARE STAGE STATISTICS "
        "SUBSCRIPTION SYSTEM TABLESPACE TAG TASK TEXT TRIGGER TYPE USER VECTOR WAREHOUSE CLUSTER COMPUTE EVENT PROFILE ALERT STREAM "
        "DIRECTORY LIBRARY PACKAGE RESTORE EXTERNAL UNIQUE NOTIFICATION SECURITY API STORAGE GIT IMAGE SERVICE NETWORK REPLICATION FAILOVER "
        "APPLICATION STATISTIC DICTIONARY NAMED QUOTA SETTINGS"
    ).split()
)


def read(phrase: Phrase) -> Read | None:
    """Return the statement's kind and form when its words are enough for them, else None."""
    first, second = phrase.word(0), phrase.word(1)
    if f"{first} {second}".split()[:2] == ["UPDATE", "STATISTICS"]:
        return "ANALYZE", None
    if " " in first and first.split()[0] in _SILENT:
        return first.split()[0], None
    if (found := schemas.read(phrase)) is not None:
        return found
    if first in {"RENAME", "EXCHANGE"}:
        return _rename(phrase)
    if first == "ALTER":
        return _alter(phrase)
    if first == "SP_RENAME" or (first in {"EXEC", "EXECUTE"} and "SP_RENAME" in phrase.words[1:6]):
        return _sp_rename(phrase)
    if first in {"SET", "DATABASE"}:
        return _set(phrase)
    if first == "USE":
        return _use(phrase)
    if first in {"LOAD", "BULK", "IMPORT", "EXPORT", "COPY", "\\"} and (found := _files(phrase)) is not None:
        return found
    if first == "REFRESH":
        return _refresh(phrase)
    if first == "APPLY" and second == "CHANGES":
        return _changes_into(phrase, 0, "APPLY CHANGES")
    if first == "CREATE" and second == "FLOW" and (place := phrase.find("CDC")) > 0:
        return _changes_into(phrase, place, "CREATE FLOW")
    if first == "CONVERT" or (first == "RESTORE" and second == "TABLE"):
        place = phrase.after(0, "CONVERT", "TO", "DELTA") if first == "CONVERT" else 2
        name, _ = phrase.name(place)
        return first, form.ChangeForm([("ALTER", name, ())]) if name and "/" not in name[-1] else None
    if first in {"TRUNCATE", "DROP", "UNDROP"}:
        return _drop(phrase)
    if first in {"END", "ABORT"} and second in {"", ";", "TRANSACTION", "WORK"}:
        return first, transaction(phrase.context, first)
    if f"{first} {second}" == "START TRANSACTION":
        return first, transaction(phrase.context, first)
    if first == "LOCKING" or (first in _SILENT and not (first == "LOAD" and second == "DATA")):
        return (first, None) if first != "LOCKING" else None
    if first in {"EXEC", "EXECUTE"} and second == "AS":  # Whose rights what follows has.
        return first, None
    if first in _ROUTINES:
        phrase.context.warn(f"what {first} runs is not known here")
        return first, None
    return None


def copied(target: form.Parts, source: form.Parts, action: str = "APPEND", *, creates: bool = False) -> form.WriteForm:
    """`target` gets the rows of `source`, every column."""
    query = everything([form.Item(form.TableSource(source), source[-1])])
    return form.WriteForm(form.Target(target), action, query, creates=creates)


def _beside(name: form.Parts, other: form.Parts) -> form.Parts:
    """A new name stays where the old one is."""
    return (*name[: len(name) - len(other)], *other) if len(other) < len(name) else other


def _rename(phrase: Phrase) -> Read | None:
    exchange = phrase.word(0) == "EXCHANGE"
    what = phrase.word(1)
    place = 2 if what in {"TABLE", "TABLES", "OBJECT", "VIEW"} else 1
    if phrase.word(place) in {"DICTIONARIES", "DATABASE"} or what in {"USER", "DATABASE", "DICTIONARY"}:
        return "RENAME", None
    place = max(place, phrase.after(place, "IF", "EXISTS"), phrase.after(place, ":", ":"))
    changes: list[tuple[str, form.Parts, form.Parts]] = []
    while True:
        name, place = phrase.name(place)
        if not name or phrase.word(place) not in {"TO", "AND", "AS", "WITH"}:
            break
        other, place = phrase.name(place + 1)
        if not other:
            break
        changes.append(("SWAP", name, other) if exchange else ("RENAME", name, _beside(name, other)))
        if phrase.word(place) != ",":
            break
        place += 1
    if not changes:
        return None
    return (f"EXCHANGE {what}" if exchange else "RENAME TABLE"), form.ChangeForm(changes)


def _alter(phrase: Phrase) -> Read | None:
    place = 1
    words = ["ALTER"]
    while phrase.word(place) in {"MATERIALIZED", "DYNAMIC", "EXTERNAL", "ICEBERG", "FOREIGN", "STREAMING"}:
        words.append(phrase.word(place))
        place += 1
    what = phrase.word(place)
    if what == "SESSION":
        at = phrase.after(place, "SESSION", "SET", "CURRENT_SCHEMA", "=")
        return "ALTER SESSION", form.SessionForm("schema", phrase.name(at)[0]) if at > 0 else None
    if what == "SCHEMA" and (at := phrase.find("TRANSFER")) > 0:
        schema, _ = phrase.name(place + 1)
        moved, _ = phrase.name(max(at + 1, phrase.after(at + 1, "OBJECT", ":", ":")))
        return "ALTER SCHEMA", form.ChangeForm([("RENAME", moved, (*schema, moved[-1]))]) if moved else None
    if what not in {"TABLE", "VIEW"}:
        return f"ALTER {what}".strip(), None
    kind = " ".join([*words, what])
    place += 1
    while (at := max(phrase.after(place, "IF", "EXISTS"), phrase.after(place, "ONLY"))) > 0:
        place = at
    name, place = phrase.name(place)
    if not name:
        return None
    if (at := phrase.after(place, "ON", "CLUSTER")) > 0:
        place = at + 1
    if phrase.word(place) in {"UPDATE", "DELETE"}:
        return None  # ClickHouse's mutations: an UPDATE or DELETE in other words.
    return kind, _moved(phrase, name, place) or (
        altered(phrase, name, place) if what == "TABLE" else _view(phrase, name, place)
    )


def _view(phrase: Phrase, name: form.Parts, place: int) -> form.Form:
    if phrase.word(place) == "REBUILD":  # Hive and Oracle: the rows are recomputed by the query it was created with.
        return form.WriteForm(form.Target(name), "OVERWRITE", form.Values([]), by_name=True, refreshes=True)
    return altered(phrase, name, place) if phrase.word(place) == "RENAME" else form.ChangeForm([("ALTER", name, ())])


def _moved(phrase: Phrase, name: form.Parts, place: int) -> form.Form | None:
    """Rows or names that go from one table to another by ALTER TABLE."""
    word, size = phrase.word(place), phrase.size
    if word == "SWITCH":
        other, _ = phrase.name(phrase.find("TO", start=place) + 1)
        return copied(_beside(name, other), name) if other else None
    if (at := phrase.after(place, "APPEND", "FROM")) > 0:
        return copied(name, phrase.name(at)[0]) if phrase.name(at)[0] else None
    if (at := max(phrase.after(place, "SWAP", "WITH"), phrase.after(place, "REPLACE", "WITH", "TABLE"))) > 0:
        other, _ = phrase.name(at)
        return form.ChangeForm([("SWAP", name, _beside(name, other))]) if other else None
    if (at := phrase.after(place, "SET", "SCHEMA")) > 0:
        schema, _ = phrase.name(at)
        return form.ChangeForm([("RENAME", name, (*schema, name[-1]))]) if schema else None
    if word == "ATTACH" and phrase.find("FOR", "DEFAULT", start=place) > 0:
        other, _ = phrase.name(place + 2)
        return copied(name, _beside(name, other)) if other else None
    if phrase.find("PARTITION", "PARTITIONS", start=place, end=min(place + 3, size)) < 0:
        return None
    table = phrase.find("TABLE", start=place)
    if table > 0 and word in {"EXCHANGE", "MOVE"}:
        other, _ = phrase.name(table + 1)
        if not other:
            return None
        if word == "MOVE":
            return copied(_beside(name, other), name)
        there = copied(name, _beside(name, other))
        if phrase.context.rule.parser in {"hive", "spark", "spark2", "databricks"}:
            return there
        return form.SeveralForm([there, copied(_beside(name, other), name)])
    source = phrase.find("FROM", start=place)
    if source > 0 and word in {"REPLACE", "ATTACH"}:
        other, _ = phrase.name(source + 1)
        return copied(name, _beside(name, other), "OVERWRITE" if word == "REPLACE" else "APPEND") if other else None
    return None


def _sp_rename(phrase: Phrase) -> Read | None:
    texts = [found for place in range(phrase.size) if (found := phrase.text(place)) is not None]
    if len(texts) < 2:
        return None
    fold = phrase.context.fold
    if len(texts) > 2 and texts[2].upper() == "COLUMN":
        *table, old = (fold(part.strip('[]"'), False) for part in texts[0].split("."))
        edit: form.Edit = ("rename", [old, fold(texts[1].strip('[]"'), False)], None)
        return "EXECUTE", form.ChangeForm([("ALTER", tuple(table), ())], edits=[edit])
    if len(texts) > 2 and texts[2].upper() not in {"OBJECT", ""}:
        return "EXECUTE", None
    name = tuple(fold(part.strip('[]"'), False) for part in texts[0].split("."))
    return "EXECUTE", form.ChangeForm([("RENAME", name, _beside(name, (fold(texts[1].strip('[]"'), False),)))])


def _names(phrase: Phrase, place: int) -> form.Parts:
    found: list[str] = []
    while place < phrase.size:
        text = phrase.text(place)
        if text is not None:
            found.append(text)
            place += 1
        else:
            parts, after = phrase.name(place)
            if not parts:
                break
            found.append(parts[-1])
            place = after
        if phrase.word(place) != ",":
            break
        place += 1
    return tuple(found)


def _set(phrase: Phrase) -> Read | None:
    if phrase.word(0) == "DATABASE":
        return "USE", form.SessionForm("schema", phrase.name(1)[0])
    place = phrase.after(0, "SET", "LOCAL|SESSION|GLOBAL?", "CURRENT?")
    if (at := phrase.after(place, "SEARCH_PATH", "TO|=")) > 0:
        return "SET", form.SessionForm("search_path", _names(phrase, at))
    if (at := phrase.after(place, "SCHEMA|CURRENT_SCHEMA", "=|TO?")) > 0:
        names = _names(phrase, at) or phrase.name(at)[0]
        return "SET", form.SessionForm("schema", names[-1:])
    return "SET", None


def _use(phrase: Phrase) -> Read | None:
    if phrase.word(1) in {"ROLE", "WAREHOUSE", "SECONDARY"}:
        return "USE", None
    return None


def _refresh(phrase: Phrase) -> Read | None:
    place = phrase.after(0, "REFRESH", "MATERIALIZED|STREAMING|EXTERNAL|DYNAMIC?")
    what = phrase.word(place)
    if what not in {"VIEW", "TABLE"} or place == 1:
        return "REFRESH", None
    place = phrase.after(place + 1, "CONCURRENTLY?")
    name, _ = phrase.name(place)
    kind = f"REFRESH {phrase.word(1)} {what}"
    return kind, form.WriteForm(
        form.Target(name), "OVERWRITE", form.Values([]), by_name=True, refreshes=True
    ) if name else None


def _changes_into(phrase: Phrase, place: int, kind: str) -> Read | None:
    """Change feeds: APPLY CHANGES INTO t FROM s, AUTO CDC INTO t FROM s."""
    into, source = phrase.find("INTO", start=place), phrase.find("FROM", start=place)
    if into < 0 or source < 0:
        return None
    name, _ = phrase.name(into + 1)
    place = max(source + 1, phrase.after(source + 1, "SNAPSHOT"), phrase.after(source + 1, "STREAM", "(?"))
    other, _ = phrase.name(place)
    return (kind, copied(name, other, "MERGE")) if name and other else None


def _drop(phrase: Phrase) -> Read | None:
    place = phrase.find("TABLE", "VIEW", "STREAM")
    if phrase.word(0) == "TRUNCATE":
        place = max(place, 0)
    elif place < 0 or place > 4:
        return f"DROP {phrase.word(1)}".strip(), None
    at = phrase.after(place + 1, "IF", "EXISTS")
    names, _ = phrase.names(at if at > 0 else place + 1)
    kind = phrase.word(0) if phrase.word(0) in {"TRUNCATE", "UNDROP"} else " ".join(phrase.words[: place + 1])
    return (kind, form.ChangeForm([(phrase.word(0), name, ()) for name in names])) if names else None


def _files(phrase: Phrase) -> Read | None:
    """Files into a table, and a table into files."""
    first = phrase.word(0)
    if phrase.word(1) in {"DATABASE", "FOREIGN"} or phrase.after(0, "COPY", "FROM", "DATABASE") > 0:
        return first, None
    if (at := phrase.after(0, "\\", "COPY")) > 0 or (at := phrase.after(0, "COPY", "INTO?")) > 0:
        return _copy(phrase, at)
    if first == "EXPORT":
        return _export(phrase)
    into = phrase.find("INTO", depth=None)
    table = -1
    if phrase.after(0, "BULK", "INSERT") > 0 or (phrase.after(0, "IMPORT", "TABLE") > 0 and phrase.word(2) != "FROM"):
        table = 2
    elif into > 0:
        table = into + 2 if phrase.word(into + 1) == "TABLE" else into + 1
    elif (at := phrase.after(0, "LOAD", "DATA", "OVERWRITE")) > 0:
        table = max(at, phrase.after(at, "TABLE"))
    if first == "IMPORT" and table < 0:
        return first, None
    if table < 0 or (first == "LOAD" and phrase.word(1) not in {"DATA", "LABEL", "XML"}):
        return None
    name, place = phrase.name(table)
    path = _path(phrase)
    if first == "IMPORT" and name and path is None:
        phrase.context.warn("what is imported stands in another system")
        return first, form.WriteForm(form.Target(name), "APPEND", form.Values([]), by_name=True)
    if not name or path is None:
        return None
    columns: list[str] = []
    if first == "LOAD" and phrase.context.rule.parser in {"mysql", "doris", "starrocks"}:
        columns = _file_columns(phrase, place)
    kind = "BULK INSERT" if first == "BULK" else first
    action = "OVERWRITE" if "OVERWRITE" in phrase.words[:table] else "APPEND"
    query = everything([form.Item(form.TableSource((path,), True))])
    return kind, form.WriteForm(form.Target(name, columns), action, query)


def _path(phrase: Phrase) -> str | None:
    """The first file named: after INFILE, INPATH, FILE, FROM, uris; never a delimiter."""
    for place in range(phrase.size):
        if phrase.words[place] in {"INFILE", "INPATH", "FILE", "URIS", "FROM", "URI"}:
            at = place + 1
            while phrase.word(at) in {"(", "[", "=", "LOCAL"}:
                at += 1
            if (found := phrase.text(at)) is not None:
                return found
    return None


def _file_columns(phrase: Phrase, place: int) -> list[str]:
    """MySQL's list of columns after the table, unless variables or SET change what goes where."""
    if phrase.find("SET", start=place) > 0:
        phrase.context.warn("which columns of the file go where is not understood: SET computes some")
        return []
    opened = phrase.find("(", start=place)
    if opened < 0 or phrase.word(opened - 1) in {"PARTITION", "INFILE", "FILES"}:
        return []
    inner = range(opened + 1, phrase.closing(opened))
    if any(phrase.words[at] == "@" for at in inner):
        phrase.context.warn("which columns of the file go where is not understood: some go into variables")
        return []
    return [phrase.name(at)[0][-1] for at in inner if phrase.is_name(at)]


def _columns(phrase: Phrase, place: int) -> tuple[list[str], int]:
    if phrase.word(place) != "(":
        return [], place
    end = phrase.closing(place)
    return [phrase.name(at)[0][-1] for at in range(place + 1, end) if phrase.is_name(at)], end + 1


def _copy(phrase: Phrase, place: int) -> Read | None:
    """COPY t FROM 'path' …, COPY t TO 'path' …, COPY INTO t FROM 'path' …, with any options."""
    if phrase.after(place, "FILES", "INTO") > 0:
        target, _ = phrase.stage(place + 2)
        source, _ = phrase.stage(phrase.find("FROM", start=place) + 1)
        query = everything([form.Item(form.TableSource((source,), True))])
        return (
            ("COPY", form.WriteForm(form.Target((target,), is_path=True), "EXPORT", query))
            if target and source
            else None
        )
    name, is_path, place = phrase.place_or_path(place)
    columns, place = _columns(phrase, place)
    way = phrase.find("FROM", "TO", start=place)
    if not name or way < 0:
        return None
    at = max(way + 1, phrase.after(way + 1, "LOCAL|PROGRAM"))
    other, other_path, _ = phrase.place_or_path(at)
    if not other or (phrase.words[way] == "FROM" and phrase.word(at) == "("):
        return None
    other_path = other_path or phrase.word(at) in {"STDIN", "STDOUT"}
    if phrase.words[way] == "FROM":
        items = [form.Item(form.TableSource(other, other_path))]
        # A client's rows have no names but those of the list; a file may have others.
        query = listed(columns, items) if columns and phrase.word(at) == "STDIN" else everything(items)
        return "COPY", form.WriteForm(
            form.Target(name, columns, is_path=is_path), "EXPORT" if is_path else "APPEND", query
        )
    query = everything([form.Item(form.TableSource(name))])
    return "COPY", form.WriteForm(form.Target(other, is_path=True), "EXPORT", query)


def _export(phrase: Phrase) -> Read | None:
    """A table or model to files: EXPORT TABLE t TO 'path', EXPORT t INTO CSV … FILE 'path', EXPORT MODEL m OPTIONS(uri = …)."""
    if phrase.word(0) == "EXPORT" and phrase.word(1) == "DATABASE":
        return "EXPORT", None
    place = phrase.after(0, "EXPORT", "TABLE|MODEL?")
    name, place = phrase.name(place)
    if not name:
        return None
    way = phrase.find("TO", "INTO", start=place)
    path = phrase.text(way + 1) if way > 0 else None
    path = path or _path(phrase) or phrase.first_text(place)
    if path is None:
        return None
    query = everything([form.Item(form.TableSource(name))])
    return "EXPORT", form.WriteForm(form.Target((path,), is_path=True), "EXPORT", query)
