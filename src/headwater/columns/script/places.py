"""Fill the place of a template's macro. Its position shows what it can be (a query, CTEs, a clause); if that is clear, equivalent SQL replaces
it. The text keeps its length and its lines. One pass over the text; it never raises.
"""

import re

import msgspec

Source = tuple[str, str, str]
"""The origin of a table: `ref` or `source`, the name it gives, and the table; empty if unknown."""


class Call(msgspec.Struct, frozen=True):
    """A macro's call: where its name was written, and the tag around it."""

    start: int
    end: int
    low: int
    high: int
    macro: str
    arguments: str


class Placed(msgspec.Struct):
    """The text; CTEs that macros make; the macro that is all of the text."""

    text: str
    stands: dict[str, Source] = {}
    whole: str = ""


QUIET = re.compile(r"'[^']*(?:'|$)|--[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|$)")
VISIBLE = re.compile(r"[^\r\n]")
WORD = re.compile(r"\w+")
CTE = re.compile(
    r"(?:\bWITH\s+(?:RECURSIVE\s+)?|,\s*)([\w\"`]+)\s+AS\s*(?:(?:NOT\s+)?MATERIALIZED\s*)?\(", re.IGNORECASE
)
LITERAL = re.compile(r"'([^']*)'|\"([^\"]*)\"")
PAIR = re.compile(r"(?<!\w)\(\s*['\"](\w+)['\"]\s*,\s*['\"]([^'\"]+)['\"]\s*\)")
SOURCE = re.compile(r"\b(ref|source)\s*\(\s*['\"]([^'\"]+)['\"]\s*(?:,\s*['\"]([^'\"]+)['\"]\s*)?\)")
SETS = {"UNION", "ALL", "EXCEPT", "INTERSECT", "DISTINCT"}
AFTER = {"GROUP", "ORDER", "HAVING", "LIMIT", "QUALIFY", "WHERE", "UNION", "EXCEPT", "INTERSECT", "WINDOW"}
BEFORE = {
    "ALL", "AND", "AS", "BETWEEN", "BY", "CASE", "DISTINCT", "ELSE", "EXCEPT", "EXISTS", "FROM", "HAVING", "ILIKE", "IN", "INTERSECT",
    "INTERVAL", "INTO", "IS", "JOIN", "LIKE", "LIMIT", "NOT", "OFFSET", "ON", "OR", "OVER", "PREWHERE", "QUALIFY", "RETURNING", "SELECT",
    "SET", "TABLE", "THEN", "TOP", "UNION", "UPDATE", "USING", "VALUES", "WHEN", "WHERE", "WITH",
}  # fmt: skip


def placed(written: str, calls: list[Call]) -> Placed:
    return _Places(written, calls).result()


class _Places:
    def __init__(self, written: str, calls: list[Call]) -> None:
        self.written, self.calls = written, calls
        self.code = QUIET.sub(_quiet, written)
        self.closes = _brackets(self.code)
        self.ctes: dict[str, str] = {}
        self.bodies: set[int] = set()
        """The places where the brackets of CTEs open."""
        for match in CTE.finditer(self.code):
            self.ctes.setdefault(match.group(1).strip('"`').lower(), match.group(1))
            self.bodies.add(match.end() - 1)
        self.edits: list[tuple[int, int, str]] = []
        self.stands: dict[str, Source] = {}
        self.gone: dict[int, int] = {}
        """The places of calls that say nothing, and the place behind each."""

    def result(self) -> Placed:
        left = [call for call in reversed(self.calls) if not self.place(call)]
        parts, at = [], 0
        for low, high, words in sorted(self.edits):
            if low >= at:
                parts += [self.written[at:low], words]
                at = high
        text = "".join(parts) + self.written[at:]
        whole = ""
        if len(left) == 1:
            only = QUIET.sub(_quiet, text).strip().rstrip(";").rstrip()
            whole = left[0].macro if only == self.written[left[0].start : left[0].end] else ""
        return Placed(text, self.stands, whole)

    def place(self, call: Call) -> bool:
        """Fills the place of a call, if it is one that says what the call is."""
        code = self.code
        before, after = call.low - 1, call.high
        while before >= 0 and code[before].isspace():
            before -= 1
        while after < len(code) and code[after].isspace():
            after += 1
        after = self.gone.get(after, after)
        last, following = code[before] if before >= 0 else ";", code[after] if after < len(code) else ";"
        word = self.word_before(before)
        match = WORD.match(code, after)
        following_word = match.group().upper() if match else ""
        is_body = last == ")" and self.closes.get(before) in self.bodies
        if last == ";" or word == "WITH" or (last == "," and self.is_after_body(before)):
            if following == "," and CTE.match(code, after):
                return self.makes_ctes(call, before, after, last, word)
            if word == "WITH" and following_word == "SELECT":
                return self.makes_ctes(call, before, after, last, word)
            if last == ";" and following_word == "SELECT" and PAIR.search(call.arguments):
                return self.makes_ctes(call, before, after, last, word)
            if last == "," and following == ";":  # The last CTE and the query of it.
                self.edits.append((before, before + 1, " "))
                return self.query(call)
            if last == "," and (following_word == "SELECT" or following == ")"):
                return self.makes_ctes(call, before, after, last, word)
        is_end = following in ";)" or following_word in AFTER
        if is_body and is_end:
            named = next((one for one in self.literals(call) if one.lower() in self.ctes), "")
            query = " ".join(["SELECT * FROM", self.ctes[named.lower()]]) if named else ""
            return (query and self.fill(call, query)) or self.query(call)
        if word in SETS and is_end and self.is_set(before, word):
            return self.query(call)
        if last == ";" and following_word in SETS:
            return self.query(call)
        if last == "(" and following == ")" and before in self.bodies:
            return self.query(call)
        if is_end and last != ";" and (last in ")'\"`" or (word and word not in BEFORE)):
            self.gone[call.start] = after
            return self.fill(call, "")
        return False

    def word_before(self, at: int) -> str:
        low = at
        while low >= 0 and at - low < 40 and (self.code[low].isalnum() or self.code[low] == "_"):
            low -= 1
        return self.code[low + 1 : at + 1].upper()

    def is_set(self, at: int, word: str) -> bool:
        """UNION ALL, not SELECT ALL."""
        if word not in ("ALL", "DISTINCT"):
            return True
        return (
            WORD.findall(self.code[max(0, at - 40) : at + 1])[-2:-1] != []
            and WORD.findall(self.code[max(0, at - 40) : at + 1].upper())[-2] in SETS
        )

    def is_after_body(self, comma: int) -> bool:
        at = comma - 1
        while at >= 0 and self.code[at].isspace():
            at -= 1
        return self.closes.get(at) in self.bodies

    def literals(self, call: Call) -> list[str]:
        return [one or other for one, other in LITERAL.findall(call.arguments)]

    def makes_ctes(self, call: Call, before: int, after: int, last: str, word: str) -> bool:
        """The call stands for CTEs: each is a table by another name."""
        pairs = PAIR.findall(call.arguments)
        for name, table in pairs:
            self.stands[name] = ("ref", table, table)
        own = call.macro.rpartition(".")[2]
        found = SOURCE.search(call.arguments)
        if not pairs and found is not None:
            kind, one, other = found.groups()
            self.stands[own] = (kind, f"{one}.{other}" if other else one, other or one)
        elif not pairs:
            self.stands[own] = ("", "", "")
        takes_comma = self.code[after : after + 1] == "," and last != ","
        if last == ";" and not self.fill(call, "WITH" if takes_comma else ""):
            return False
        if last != ";":
            self.fill(call, "")
        if takes_comma:
            self.edits.append((after, after + 1, " "))
        elif last == ",":
            self.edits.append((before, before + 1, " "))
        elif word == "WITH":
            self.edits.append((before - 3, before + 1, "    "))
        return True

    def query(self, call: Call) -> bool:
        """Some query: its outputs are the call's."""
        return self.fill(call, f"SELECT {self.written[call.start : call.end]}")

    def fill(self, call: Call, words: str) -> bool:
        lines = self.written[call.low : call.high].split("\n")
        for place, line in enumerate(lines):
            if len(line.rstrip("\r")) >= len(words):
                blank = [VISIBLE.sub(" ", one) for one in lines]
                blank[place] = words + blank[place][len(words) :]
                self.edits.append((call.low, call.high, "\n".join(blank)))
                return True
        return False


def _quiet(match: re.Match[str]) -> str:
    """A comment is blank, a string is quotes."""
    return VISIBLE.sub("'" if match.group().startswith("'") else " ", match.group())


def _brackets(code: str) -> dict[int, int]:
    """Return the place of the opening bracket for each closing one."""
    found: dict[int, int] = {}
    waiting: list[int] = []
    for match in re.finditer(r"[()]", code):
        if match.group() == "(":
            waiting.append(match.start())
        elif waiting:
            found[match.start()] = waiting.pop()
    return found
