"""SQL with holes to SQL: Jinja and dbt, `${x}`, `$(x)`, `{x}`, `%(x)s`. Every character stays in its place, so positions stay right.

It renders nothing. `ref` and `source` become the names they stand for; any other value becomes a name or, inside quotes, blanks.
Of `{% if %}` the first branch is kept and the others are blanked, also of `is_incremental()`: an incremental run says more about where
rows come from than a first one. The same condition, or its `not`, chooses the same way later on. A loop's body stands once, as its
first and last turn: `not loop.last` is false. A macro's text is blanked: it is not this statement.
A part that has no room for its name or is not understood is a refusal, and the rest is still given.
"""

import re

import msgspec

from headwater.columns.script import places
from headwater.columns.script.places import Call


class Refusal(msgspec.Struct, frozen=True):
    """A part of a template that could not be put into SQL, and why."""

    line: int
    what: str
    why: str


class Templated(msgspec.Struct, frozen=True):
    """SQL as long as the template, line by line. `names`: names in it, as written, that stand for something else:
    `("ref", "package.model")`, `("source", "schema.table")`, `("this", "")`, `("var", "name")`, `("expression", "…")`; a name that a
    tag is only a part of is `("template", "…")` with all of its text.
    `config`: what `config(…)` says in literals. `holes`: of those names (in lower case) the ones about which nothing is known, and
    why. `stands`: names of CTEs that a macro makes, and the table each is made of. `whole`: the macro that is all of the text.
    """

    text: str
    names: dict[str, tuple[str, str]]
    refusals: tuple[Refusal, ...]
    config: dict[str, str]
    holes: dict[str, str] = {}
    stands: dict[str, str] = {}
    whole: str = ""


TAG = re.compile(r"\{\{|\{%|\{#|\$\{|\$\(|%\(|\{(?=[A-Za-z_][\w.]*\})")
VISIBLE = re.compile(r"[^\r\n]")
CALL = re.compile(r"([A-Za-z_][\w.]*)\s*\((.*)\)\s*(\|.*)?", re.DOTALL)
LITERAL = re.compile(r"'([^']*)'|\"([^\"]*)\"")
ARGUMENT = re.compile(r"\s*(?:(\w+)\s*=\s*)?(?:'([^']*)'|\"([^\"]*)\"|([^,'\"()\[\]{}]+))\s*(?:,|$)")
ENTRY = re.compile(r"""["'](\w+)["']\s*:\s*(?:'([^']*)'|"([^"]*)")""")
VERSION = re.compile(r"\bv(?:ersion)?\s*=\s*['\"]?(\w+)")
SPACES = re.compile(r"(?:hiveconf|hivevar|env|system|spark):", re.IGNORECASE)
SIMPLE = re.compile(r"[A-Za-z_]\w*")
PART = re.compile(r"\w+")
BLOCKS = {"if", "for", "macro", "set", "call", "filter", "raw", "block", "snapshot", "test", "materialization", "docs"}
BLANKED = {"macro", "set", "call", "docs", "test", "materialization"}
MARKS = {"{{": "}}", "{%": "%}", "{#": "#}", "${": "}", "$(": ")", "%(": ")", "{": "}"}
FORMATS = ("s", "d", "f")
SCAN = re.compile(r"'|\"|`|--|/\*|\*/|\n")
WORD = re.compile(r"\w+")
MARK = re.compile(r"\{\{|\{%|\{#")
MARK_END = re.compile(r"\}\}|%\}|#\}")
TURN = re.compile(r"not\s+loop\s*\.\s*(?:first|last)")


class _Open(msgspec.Struct):
    kind: str
    hidden: bool
    line: int
    kept: bool = False
    """A branch of an `if` has been kept."""


class _Hole(msgspec.Struct):
    """The place where a name was written."""

    start: int
    end: int
    meaning: tuple[str, str]
    tag: tuple[int, int]
    macro: str = ""
    arguments: str = ""


def plain(text: str) -> Templated:
    """The SQL that a template holds. Never raises."""
    return _Rendering(text).result()


class _Rendering:
    def __init__(self, text: str) -> None:
        self.text = text
        self.parts: list[str] = []
        self.names: dict[str, tuple[str, str]] = {}
        self.taken: dict[tuple[str, str], str] = {}
        self.refusals: list[Refusal] = []
        self.config: dict[str, str] = {}
        self.open: list[_Open] = []
        self.hiding = 0
        self.line = 1
        self.quote = ""
        self.raw = False
        self.endless: set[str] = set()
        self.holes: list[_Hole] = []
        self.unknown: dict[str, str] = {}
        self.stands: dict[str, str] = {}
        self.said: frozenset[str] | None = None
        self.chosen: dict[str, bool] = {"is_incremental()": True}
        """Conditions, and whether they hold."""
        self.size = 0

    def result(self) -> Templated:
        at = 0
        while match := TAG.search(self.text, at):
            start, mark = match.start(), match.group()
            self.literal(self.text[at:start])
            closer = MARKS[mark]
            end = -1 if closer in self.endless else self.closing(start + len(mark), mark, closer)
            if end < 0 or (self.raw and not re.match(r"\{%-?\s*endraw", self.text[start : start + 20])):
                if end < 0:
                    self.endless.add(closer)
                    if len(mark) == 2 and mark[0] == "{":
                        self.refuse(mark, "it is never closed")
                self.literal(mark)
                at = match.end()
                continue
            if mark == "%(" and self.text[end : end + 1] in FORMATS:
                end += 1
            self.tag(mark, self.text[start:end], end)
            at = end
        self.literal(self.text[at:])
        self.refusals += [Refusal(block.line, block.kind, "it is never ended") for block in self.open]
        written = "".join(self.parts)
        self.settle(written)
        calls = [Call(one.start, one.end, *one.tag, one.macro, one.arguments) for one in self.holes if one.macro]
        placed = places.placed(written, calls) if calls else places.Placed(written)
        for name, (kind, value, table) in placed.stands.items():
            made = self.unique(re.sub(r"\W", "_", table, flags=re.ASCII), (kind, value), 100) if table else ""
            if made:
                self.names[made] = (kind, value)
            self.stands[name.lower()] = made
        refusals = tuple(sorted(self.refusals, key=_line))
        return Templated(placed.text, self.names, refusals, self.config, self.unknown, self.stands, placed.whole)

    def closing(self, at: int, mark: str, closer: str) -> int:
        """After the closing mark; strings may hold one too."""
        found = self.text.find(closer, at)
        if found < 0:
            return -1
        if mark in ("{{", "{%") and ("'" in self.text[at:found] or '"' in self.text[at:found]):
            here, quote = at, ""
            limit = min(len(self.text), at + 20_000)
            while here < limit:
                char = self.text[here]
                if quote:
                    quote = "" if char == quote else quote
                elif char in "'\"":
                    quote = char
                elif self.text.startswith(closer, here):
                    return here + 2
                here += 1
        return found + len(closer)

    # The output

    def add(self, part: str) -> None:
        if not part:
            return
        self.parts.append(part)
        self.size += len(part)
        self.line += part.count("\n")

    def literal(self, part: str) -> None:
        if self.hiding:
            self.blank(part)
            return
        self.add(part)
        for match in SCAN.finditer(part):
            mark = match.group()
            if not self.quote:
                self.quote = mark if mark not in ("*/", "\n") else ""
            elif self.quote == mark or (self.quote, mark) in (("--", "\n"), ("/*", "*/")):
                self.quote = "" if mark not in ("--", "/*") else self.quote

    def blank(self, part: str) -> None:
        self.add(VISIBLE.sub(" ", part))

    def put(self, tag: str, written: str) -> None:
        """Text in the place of a tag, padded to its length and its lines."""
        self.add(written + VISIBLE.sub(" ", tag[len(written) :]))

    def refuse(self, what: str, why: str) -> None:
        self.refusals.append(Refusal(self.line, " ".join(what.split())[:120], why))

    # Tags

    def tag(self, mark: str, tag: str, end: int) -> None:
        if mark == "{%":
            self.block(tag)
        elif mark == "{#" or self.hiding:
            self.blank(tag)
        elif mark == "{{":
            self.value(tag, tag[2:-2].strip("-+ \t\r\n"), end)
        else:
            self.variable(mark, tag, end)

    def block(self, tag: str) -> None:
        inner = tag[2:-2].strip("-+ \t\r\n")
        word, _, rest = inner.partition(" ")
        word = re.split(r"[^\w]", word, maxsplit=1)[0]
        if word.startswith("end"):
            self.close(word[3:], tag)
        elif word in ("elif", "else"):
            self.other(word, tag)
        elif word == "set" and "=" in rest:
            self.blank(tag)
            return
        elif word in BLOCKS:
            if word == "raw":
                self.raw = True
            hidden = word in BLANKED or (word == "if" and not self.hiding and not self.holds(" ".join(rest.split())))
            self.open.append(_Open(word, hidden, self.line, not hidden))
            self.hiding += hidden
        elif word not in ("do", "import", "from", "include", "extends", "break", "continue", "return", ""):
            self.refuse(tag, "a block that is not known")
        elif word in ("include", "extends") and not self.hiding:
            self.refuse(tag, "text of another file")
        self.blank(tag)

    def holds(self, condition: str) -> bool:
        """Return whether a condition counts as true: it does the first time, and later as it did then."""
        if TURN.match(condition):
            return False
        positive = True
        while condition.startswith("not "):
            condition, positive = condition[4:].lstrip(), not positive
        if not positive and re.match(r"is_incremental\(\) and (?!.* or )", condition):
            return False
        return self.chosen.setdefault(condition, positive) == positive

    def close(self, kind: str, tag: str) -> None:
        if kind == "raw":
            self.raw = False
        if not any(block.kind == kind for block in self.open[-50:]):
            self.refuse(tag, "it ends nothing")
            return
        while self.open:
            block = self.open.pop()
            self.hiding -= block.hidden
            if block.kind == kind:
                return
            self.refusals.append(Refusal(block.line, block.kind, "it is never ended"))

    def other(self, word: str, tag: str) -> None:
        """A later branch: only one of them can be SQL."""
        if not self.open or self.open[-1].kind not in ("if", "for"):
            self.refuse(tag, "it belongs to no block")
            return
        block = self.open[-1]
        hidden = block.kept
        self.hiding += hidden - block.hidden
        block.hidden, block.kept = hidden, True

    def value(self, tag: str, inner: str, end: int) -> None:
        match = CALL.fullmatch(inner)
        name, arguments = (match.group(1), match.group(2)) if match else (inner, "")
        named = (
            [(m.group(1) or "", m.group(2) or m.group(3) or "") for m in ARGUMENT.finditer(arguments)] if match else []
        )
        literals = [a or b for a, b in LITERAL.findall(arguments)]
        if name == "config":
            self.config.update({key: value for key, value in named if key and value})
            self.config.update({key: single or double for key, single, double in ENTRY.findall(arguments)})
            self.put(tag, "")
        elif name in ("ref", "source") and literals and not self.other_than_literals(arguments):
            version = VERSION.findall(arguments)
            path = [value for key, value in named if not key and value] or literals
            self.named(tag, name, ".".join(path[:2]) + "".join(f".v{v}" for v in version[:1]), end, path[-1])
        elif name in ("ref", "source"):
            self.refuse(tag, "its name is known only when it runs")
            why = f"behind {' '.join(inner.split())[:80]}, known only when it runs"
            self.named(tag, "expression", inner, end, "x", why)
        elif name == "this" or name.startswith("this."):
            self.named(tag, "this", name[5:], end, "this")
        elif name == "var" and literals:
            self.default(tag, literals, arguments, end)
        elif name in ("log", "return", "exceptions.warn", "print", "do"):
            self.put(tag, "")
        elif match is None and SIMPLE.fullmatch(name.rpartition(".")[2]):
            own = name.rpartition(".")[2]
            self.named(tag, "expression", inner, end, own, f"behind the variable {name}")
        else:
            if match and not self.quote:
                self.refuse(tag, "a macro or expression whose text is known only when it runs")
            self.named(
                tag,
                "expression",
                inner,
                end,
                name.rpartition(".")[2] if SIMPLE.fullmatch(name.rpartition(".")[2]) else "x",
                f"behind the macro {name.rpartition('.')[2]}" if match else "behind an expression of the template",
                name if match else "",
                arguments,
            )

    def other_than_literals(self, arguments: str) -> bool:
        rest = re.sub(r"\b(?:v|version)\s*=\s*\w+", "", LITERAL.sub("", arguments))
        return bool(rest.strip(" ,\t\r\n"))

    def default(self, tag: str, literals: list[str], arguments: str, end: int) -> None:
        """`var('x', 'default')`: the default when it can be SQL, otherwise the variable's name."""
        after = arguments.partition(",")[2].strip()
        if self.quote and len(literals) > 1:
            self.put(tag, literals[1] if len(literals[1]) <= len(tag) and self.quote not in literals[1] else "")
        elif re.fullmatch(r"-?\d+(?:\.\d+)?", after):
            self.put(tag, after)
        elif len(literals) > 1 and SIMPLE.fullmatch(literals[1]):
            self.named(tag, "var", literals[0], end, literals[1])
        else:
            why = f"behind the variable {literals[0]}"
            self.named(
                tag, "var", literals[0], end, "".join(PART.findall(literals[0])), why if len(literals) == 1 else ""
            )

    def variable(self, mark: str, tag: str, end: int) -> None:
        """`${x}`, `${x:default}`, `$(x)`, `{x}`, `%(x)s`."""
        inner = tag[len(mark) : -1 - (mark == "%(")]
        if mark == "%(":
            if not SIMPLE.fullmatch(inner) or tag[-1] not in FORMATS:
                self.literal(tag)
                return
        elif mark == "$(" and not SIMPLE.fullmatch(inner):
            self.literal(tag)
            return
        if mark == "{" and self.quote:
            self.literal(tag)
            return
        core = (
            PART.findall(re.split(r"[:=|]", SPACES.sub("", inner), maxsplit=1)[0])
            if mark == "${"
            else PART.findall(inner)
        )
        self.named(tag, "var", inner, end, core[-1] if core else "x", f"behind the variable {inner}")

    # Names

    def words(self) -> frozenset[str]:
        """The words outside of tags, in lower case: names that holes must not get."""
        if self.said is None:
            between = (MARK.split(part, maxsplit=1)[0] for part in MARK_END.split(self.text))
            self.said = frozenset(word.lower() for part in between for word in WORD.findall(part))
        return self.said

    def named(
        self,
        tag: str,
        kind: str,
        value: str,
        end: int,
        wish: str,
        why: str = "",
        macro: str = "",
        arguments: str = "",
    ) -> None:
        """A name in a tag's place, a hole if `why` says so. Beside other letters or in quotes it has to fill the tag, or it would fall
        into two words."""
        if self.quote in ("'", "--", "/*"):
            self.put(tag, "")
            return
        before, after = (self.parts[-1][-1:] if self.parts and self.parts[-1] else " "), self.text[end : end + 1]
        joined = (
            before.isalnum()
            or before in "_["
            or after.isalnum()
            or after in ("_", "]")
            or self.text[end : end + 2] in ("{{", "${")
        )
        word = re.sub(r"\W", "_", wish, flags=re.ASCII) or "x"
        if word[0].isdigit() or (word.upper() in RESERVED and not joined):
            word = "_" + word
        lines = tag.split("\n")
        lead = 0 if len(lines[0]) >= len(word) else tag.find(max(lines, key=len))
        room = len(max(lines, key=len)) if lead else len(lines[0])
        meaning = (kind, value)
        if joined or self.quote:
            lead, room = 0, len(lines[0])
            if len(lines) > 1:
                self.refuse(tag, "a part of a name that runs over several lines")
            word = word[:room].ljust(room, "_")
        else:
            if why and kind == "expression":
                word, count = word[:room], 1
                while word.lower() in self.words() and count < 50:
                    count += 1
                    word = f"{wish[: max(room - 4, 1)]}_{count}"
            word = self.unique(word if len(word) <= room else f"_{len(self.names)}"[:room], meaning, room)
            self.names[word] = meaning
        self.blank(tag[:lead])
        if why:
            self.unknown[word.lower()] = why
        outer = (self.size - lead, self.size - lead + len(tag))
        macro = "" if joined or self.quote else macro
        self.holes.append(_Hole(self.size, self.size + len(word), meaning, outer, macro, arguments))
        self.put(tag[lead:], word)

    def unique(self, word: str, meaning: tuple[str, str], room: int) -> str:
        """One name for one meaning: two packages may have a model of the same name."""
        known = self.taken.get(meaning)
        if known is not None and len(known) <= room:
            return known
        made, count = word, 1
        while self.names.get(made, meaning) != meaning and count < 100:
            count += 1
            made = f"{word[: max(room - 3, 1)]}_{count}"[:room]
        self.taken[meaning] = made
        return made

    def settle(self, written: str) -> None:
        """The names that tags are only a part of, with the template text they stand for."""
        done = -1
        for hole in self.holes:
            if hole.start < done or hole.start == hole.end:
                continue
            low, high = hole.start, hole.end
            while low > 0 and (written[low - 1].isalnum() or written[low - 1] == "_"):
                low -= 1
            match = WORD.match(written, high)
            high = match.end() if match else high
            done = high
            name = written[low:high]
            if (low, high) != (hole.start, hole.end):
                self.names[name] = ("template", self.text[low:high])
                self.unknown.pop(written[hole.start : hole.end].lower(), None)
            else:
                self.names[name] = hole.meaning


RESERVED = {
    "ALL", "AND", "AS", "BY", "CASE", "CROSS", "DATE", "DELETE", "DESC", "DISTINCT", "ELSE", "END", "EXISTS", "FROM", "FULL", "GROUP",
    "HAVING", "IN", "INNER", "INSERT", "INTO", "IS", "JOIN", "LEFT", "LIKE", "LIMIT", "NOT", "NULL", "ON", "OR", "ORDER", "OUTER", "RIGHT",
    "SELECT", "SET", "TABLE", "THEN", "TO", "UNION", "UPDATE", "USING", "VALUES", "WHEN", "WHERE", "WITH",
}  # fmt: skip


def _line(refusal: Refusal) -> int:
    return refusal.line
