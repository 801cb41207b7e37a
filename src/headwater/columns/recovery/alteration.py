"""ALTER TABLE read word by word: which columns come, go and change their names. The parser takes `RENAME a TO b` for a table's new name.

Every action of every dialect is one of few; one that is none of them leaves the table's columns unknown, and a warning says so.
"""

from headwater.columns import form
from headwater.columns.recovery.phrase import Phrase

_NO_COLUMN = frozenset(
    "CONSTRAINT PRIMARY UNIQUE FOREIGN CHECK INDEX KEY FULLTEXT SPATIAL EXCLUDE PARTITION PARTITIONS PROJECTION STATISTICS PERIOD "
    "RANGE VALUES SEARCH ROW SUPPLEMENTAL TTL CLUSTERING STORAGE TAG MASKING POLICY FILES FILE DATA HASH SUBPARTITION "
    "OPTIMIZATION DIMENSION PATTERN".split()
)
_SILENT = frozenset(
    "SET UNSET ENABLE DISABLE OWNER CLUSTER RECLUSTER ENGINE COMMENT AUTO_INCREMENT CONVERT DEFAULT CHARACTER CHARSET COLLATE ORDER ROW_FORMAT "
    "VALIDATE NOVALIDATE FORCE DISCARD IMPORT TRUNCATE COALESCE REORGANIZE REBUILD ANALYZE OPTIMIZE REPAIR CHECK TOUCH ARCHIVE UNARCHIVE "
    "COMPACT CONCATENATE CLUSTERED NOT SKEWED INTO RESET INHERIT REPLICA LOGGED NO LOCK ALGORITHM SUSPEND RESUME "
    "REFRESH EXECUTE RECOVER FREEZE UNFREEZE FETCH MATERIALIZE CLEAR APPEND DROPPARTITION CLUSTERING PARTITION WITHOUT ENCODE DISTSTYLE "
    "DISTKEY SORTKEY COMPRESS NOCOMPRESS PARALLEL NOPARALLEL CACHE NOCACHE LOGGING NOLOGGING MOVE SHRINK SPLIT MERGE INITRANS PCTFREE PCTUSED "
    "STORAGE ALLOCATE DEALLOCATE READ RESULT_CACHE INMEMORY FLASHBACK UPDATE NOSORTED AND OPTIONS CLUSTER_BY ATTACH DETACH CONNECTION MODIFY_TTL "
    "WITH LOCK_ESCALATION CHANGE_TRACKING FILESTREAM_ON ADVISE BATCH FALLBACK JOURNAL CHECKSUM MAP ONLINE OFFLINE LOCATION FILEFORMAT SERDE".split()
)
_VERBS = frozenset("ADD DROP RENAME CHANGE MODIFY ALTER REPLACE SET UNSET OWNER SWAP".split())
_ENDS = frozenset("CASCADE RESTRICT PURGE FORCE INVALIDATE CONSTRAINTS CONTINUE CHECKPOINT NOT VALID".split())
_NO_TYPE = frozenset(
    "SET DROP NOT NULL DEFAULT COMMENT ADD UNSET FIRST AFTER RENAME REMOVE VISIBLE INVISIBLE ENCRYPT".split()
)
_BEHIND_TYPE = frozenset("USING COLLATE NOT NULL DEFAULT COMMENT FIRST AFTER ENCODE CONSTRAINT CHECK PRIMARY ;".split())
_BARE_TYPES = frozenset({"tsql", "fabric"})
"""Dialects in which the type follows ALTER COLUMN and the name without a word between."""
_TABLE_NAMES_ALONE = frozenset({"mysql", "doris", "starrocks"})


def altered(phrase: Phrase, name: form.Parts, place: int) -> form.ChangeForm:
    """Return the changes that the actions of ALTER TABLE `name`, from `place` on, make to its columns and its name."""
    reader = _Reader(phrase, name)
    reader.actions(place)
    return form.ChangeForm(reader.changes or [("ALTER", name, ())], edits=reader.edits)


class _Reader:
    """Reads the actions in turn. A column is (name, where it goes): at the end (None), first (""), or after another."""

    def __init__(self, phrase: Phrase, name: form.Parts) -> None:
        self.phrase = phrase
        self.name = name
        self.changes: list[tuple[str, form.Parts, form.Parts]] = []
        self.edits: list[form.Edit] = []

    def actions(self, place: int) -> None:
        phrase = self.phrase
        if phrase.word(place) == "*":
            place += 1
        if phrase.word(place) == "PARTITION" and phrase.word(place + 1) == "(":
            place = phrase.skipped(place + 1)
        verb = ""
        while place < phrase.size:
            word = phrase.word(place)
            if word in {",", ";"}:
                place += 1
                continue
            if word in _VERBS or word in _SILENT or not verb:
                verb = word
                place = self.action(verb, place + 1)
            else:  # `DROP COLUMN a, b`, `ADD a int, b int`: the verb goes on.
                place = self.action(verb, place)

    def action(self, verb: str, place: int) -> int:
        phrase = self.phrase
        end = self.end(place)
        has_edit = len(self.edits), len(self.changes)
        if verb == "ADD":
            self.add(place, end)
        elif verb == "DROP":
            self.drop(place, end)
        elif verb == "RENAME":
            self.rename(place)
        elif verb in {"CHANGE", "MODIFY", "ALTER"}:
            self.change(verb, place, end)
        elif verb == "REPLACE" and phrase.word(place) in {"COLUMNS", "COLUMN", "("}:
            opened = phrase.find("(", start=place, end=end)
            if opened >= 0:
                self.edits.append(
                    ("replace", [one for one, _ in self.columns(opened + 1, phrase.closing(opened))], None)
                )
        elif verb == "INHERIT":
            if parent := phrase.name(place)[0]:
                self.changes.append(("PART", self.name, parent))
        elif verb not in _SILENT:
            self.unknown(verb)
        if (len(self.edits), len(self.changes)) == has_edit and not self.changes:
            self.changes.append(("ALTER", self.name, ()))
        return end

    def unknown(self, verb: str) -> None:
        self.phrase.context.warn(f"what {verb} does to the columns of {'.'.join(self.name)} is not understood")
        self.edits.append(("unknown", [], None))

    def end(self, place: int) -> int:
        """Behind the action: at its comma, or at the end."""
        phrase = self.phrase
        depth = angle = 0
        for at in range(place, phrase.size):
            if phrase.depths[at] > (phrase.depths[place] if at > place else phrase.depths[at]):
                continue
            word = phrase.words[at]
            angle += word.count("<") - word.count(">") if word in {"<", ">", "<<", ">>"} else 0
            if word == "," and phrase.depths[at] == 0 and angle <= 0:
                return at
        return phrase.size + depth

    def column(self, place: int) -> str:
        token = self.phrase.tokens[place]
        return self.phrase.context.fold(token.text, self.phrase.is_quoted(place))

    def skip(self, place: int, *words: str) -> int:
        while self.phrase.word(place) in words:
            place += 1
        return place

    def columns(self, place: int, end: int) -> list[tuple[str, str | None]]:
        """The columns of a list of definitions, and where they go."""
        found: list[tuple[str, str | None]] = []
        for start, stop in self.phrase.entries(place, end):
            if self.reshapes("ADD", start):
                continue
            if self.phrase.declares_column(start):
                found.append((self.column(start), self.where(start + 1, stop)))
        return found

    def where(self, place: int, end: int) -> str | None:
        depth = self.phrase.depths[place - 1]
        for at in range(place, end):
            if self.phrase.depths[at] == depth:
                if self.phrase.words[at] == "FIRST":
                    return ""
                if self.phrase.words[at] == "AFTER" and self.phrase.is_name(at + 1):
                    return self.column(at + 1)
        return None

    def add(self, place: int, end: int) -> None:
        phrase = self.phrase
        if phrase.word(place) in {"COLUMN", "COLUMNS"}:
            place += 1
        elif phrase.word(place) in _NO_COLUMN and phrase.word(place + 1) != "":
            return
        place = self.skip(place, "IF", "NOT", "EXISTS")
        if phrase.word(place) in _NO_COLUMN:
            return
        listed = (
            self.columns(place + 1, phrase.closing(place))
            if phrase.word(place) == "("
            else self.columns(place, end)[:1]
        )
        self.edits += [("add", [name], after) for name, after in listed]

    def reshapes(self, verb: str, place: int) -> bool:
        """Return whether the column at `place` is a field of one (`s.f`): then the type of `s` changes, and no column."""
        if not (self.phrase.is_name(place) and self.phrase.word(place + 1) == "."):
            return False
        self.edits.append(("reshape", [self.column(place), verb], None))
        return True

    def drop(self, place: int, end: int) -> None:
        phrase = self.phrase
        said = phrase.word(place) in {"COLUMN", "COLUMNS"}
        if not said and phrase.word(place) in _NO_COLUMN:
            return
        if phrase.word(place) == "UNUSED":
            return
        place = self.skip(place, "COLUMN", "COLUMNS", "IF", "EXISTS")
        if phrase.word(place) in {"NOT", "DEFAULT"}:
            return
        if phrase.word(place) == "(":
            names = [
                self.column(start)
                for start, _ in phrase.entries(place + 1, phrase.closing(place))
                if phrase.is_name(start)
            ]
        elif self.reshapes("DROP", place):
            return
        else:
            names = [self.column(place)] if phrase.is_name(place) and phrase.word(place) not in _ENDS else []
        if names:
            self.edits.append(("drop", names, None))
        else:
            self.unknown("DROP")

    def rename(self, place: int) -> None:
        phrase = self.phrase
        if phrase.word(place) in _NO_COLUMN:
            return
        if phrase.word(place) in {"TO", "AS"} or (
            phrase.is_name(place)
            and self.phrase.word(place + 1) in {"", ","}
            and phrase.context.rule.parser in _TABLE_NAMES_ALONE
        ):
            at = place + 1 if phrase.word(place) in {"TO", "AS"} else place
            other, _ = phrase.name(at)
            if other:
                beside = (*self.name[: len(self.name) - len(other)], *other) if len(other) < len(self.name) else other
                self.changes.append(("RENAME", self.name, beside))
                return
        place = self.skip(place, "COLUMN", "IF", "EXISTS")
        if self.reshapes("RENAME", place):
            return
        if phrase.is_name(place) and phrase.word(place + 1) in {"TO", "AS"} and phrase.is_name(place + 2):
            self.edits.append(("rename", [self.column(place), self.column(place + 2)], None))
        else:
            self.unknown("RENAME")

    def change(self, verb: str, place: int, end: int) -> None:
        """CHANGE a b type, MODIFY a type, ALTER a …, with FIRST or AFTER."""
        phrase = self.phrase
        if phrase.word(place) in _NO_COLUMN:
            return
        place = self.skip(place, "COLUMN", "COLUMNS", "IF", "EXISTS")
        if phrase.word(place) == "(":  # Oracle's `MODIFY (a number, b date)`
            for start, stop in phrase.entries(place + 1, phrase.closing(place)):
                if phrase.is_name(start) and (kind := self.kind(verb, start + 1, stop)):
                    self.edits.append(("retype", [self.column(start), kind], None))
            return
        if not phrase.is_name(place) or self.reshapes(verb, place):
            return
        old = self.column(place)
        at = place + 1
        if verb == "CHANGE" and phrase.is_name(at):
            self.edits.append(("rename", [old, self.column(at)], None))
            old = self.column(at)
        elif phrase.word(at) == "RENAME" and phrase.is_name(max(at + 2, 0)):
            self.edits.append(("rename", [old, self.column(at + 2)], None))
            old = self.column(at + 2)
        where = self.where(at, end)
        if where is not None:
            self.edits.append(("move", [old], where))
        if kind := self.kind(verb, at, end):
            self.edits.append(("retype", [old, kind], None))

    def kind(self, verb: str, place: int, end: int) -> str:
        """The type that a column gets, as it is written; "" if it keeps its own."""
        phrase = self.phrase
        if verb == "CHANGE":
            place += 1
        if phrase.word(place) == "SET" and phrase.word(place + 1) == "DATA":
            place += 2
        if phrase.word(place) == "TYPE":
            place += 1
        elif phrase.word(place) in _NO_TYPE or (verb == "ALTER" and phrase.context.rule.parser not in _BARE_TYPES):
            return ""
        words: list[str] = []
        for at in range(place, min(end, phrase.size)):
            if phrase.words[at] in _BEHIND_TYPE:
                break
            words.append(phrase.tokens[at].text)
        return " ".join(words).replace(" ( ", "(").replace(" )", ")").replace(" ,", ",").lower()
