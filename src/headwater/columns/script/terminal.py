"""Commands of a vendor's terminal that its server never sees: blanked, or turned into `;`, with every character in its place.

sqlplus (`/`, SET, PROMPT, `&name`, `-` at a line's end, …), psql (`\\set`, data after COPY … FROM stdin), mysql (DELIMITER),
BTEQ (`.LOGON`), sqlcmd (`:setvar`), the shells of SQLite and DuckDB (`.print`).
Of PL/SQL's `$IF` every branch is kept.
"""

import re

SLASH = re.compile(r"^([ \t]*)/(?=[ \t\r]*$)", re.MULTILINE)
SQLPLUS = re.compile(
    r"""^[ \t]*(?:
    PRO(?:MPT)?\b | REM(?:ARK)?\b | SPO(?:OL)?\b | WHENEVER[ \t]+(?:SQL|OS)ERROR\b | SHO(?:W)?[ \t] | @@?[\w./&]
  | UNDEF(?:INE)?[ \t]+\w | DEF(?:INE)?[ \t]+\w+[ \t]*= | ACC(?:EPT)?[ \t]+\w+[ \t]+(?:PROMPT|CHAR|NUMBER|DATE|DEFAULT|FORMAT|HIDE)\b
  | VAR(?:IABLE)?[ \t]+\w+[ \t]+(?:N?VARCHAR2|NUMBER|REFCURSOR|CLOB|CHAR)\b | PAUSE\b | CONN(?:ECT)?[ \t]+(?!BY\b)[\w/&]
  | COL(?:UMN)?[ \t]+\w+[ \t]+(?:FOR(?:MAT)?|HEA(?:DING)?|NEW_VALUE|NOPRINT)\b | (?:TTITLE|BTITLE|CL(?:EAR)?[ \t]+SCR(?:EEN)?)\b
  | SET[ \t]+(?:DEF(?:INE)?|ECHO|FEED(?:BACK)?|SERVEROUT(?:PUT)?|VER(?:IFY)?|HEA(?:DING)?|PAGES(?:IZE)?|LIN(?:ESIZE)?|TERM(?:OUT)?
      |TIMI?(?:NG)?|TIME|SQLBL(?:ANKLINES)?|SQLT(?:ERMINATOR)?|TRIM(?:SPOOL|OUT)?|TRIMS|AUTO(?:COMMIT|TRACE)?|AUTOT|LONG|COLSEP
      |SCAN|ESC(?:APE)?|SQLP(?:ROMPT)?|NUM(?:WIDTH|FORMAT)?|WRAP|TAB|ARRAYSIZE|CONCAT|EXITCOMMIT|NEWP(?:AGE)?|UND(?:ERLINE)?)
      [ \t]+[^=\r\n]*(?=\r?$)
  | SET[ \t]+(?!TRANSACTION\b|ROLE\b|CONSTRAINTS?\b)[a-z]+[ \t]+[\w'"+.-][^=\r\n]*(?=\r?$)
  | LIST[ \t]*(?=\r?$)
    )[^\r\n]*""",
    re.MULTILINE | re.IGNORECASE | re.VERBOSE,
)
CONDITIONAL = re.compile(r"\$(?:if|elsif)\b[^$]*(?:\$\$\w+[^$]*)*\$then\b|\$(?:else|end)\b", re.IGNORECASE)
SUBSTITUTION = re.compile(r"(?<![\w'\"?=&])&{1,2}([A-Za-z]\w*)(\.?)")
BACKSLASH = re.compile(r"^[ \t]*\\(?!copy\b)[a-zA-Z!?][^\r\n]*", re.MULTILINE | re.IGNORECASE)
COPIED = re.compile(r"^[ \t]*\\(?=copy\b)[^\r\n]*", re.MULTILINE | re.IGNORECASE)
CONTINUED = re.compile(
    r"""(?<!-)-(?=[ \t]*\r?\n\s*(?:[,);=<>|]|(?:FROM|WHERE|AND|OR|INTO|VALUES|SELECT|ORDER|GROUP|HAVING|UNION|ON|AS|JOIN|SET)\b))
      | (?<=[,(])-(?=[ \t]*\r?$)""",
    re.MULTILINE | re.IGNORECASE | re.VERBOSE,
)
SQLCMD = re.compile(
    r"^[ \t]*(?::(?:setvar|r|connect|on|out|error|listvar|quit|exit|reset|xml|perftrace|serverlist)\b|!!)[^\r\n]*",
    re.MULTILINE | re.IGNORECASE,
)
SHELL = re.compile(
    r"""^\.(?:print|read|mode|headers?|output|once|open|import|tables|schema|timer|echo|shell|system|quit|exit|bail|width|separator
    |nullvalue|dump|load|log|maxrows|maxwidth|prompt|changes|stats|eqp|help|cd|binary|databases|index|indexes|indices|restore|save|backup
    |clone|excel|explain|show|trace|timeout|testcase|check|parameter|rows|columns|multiline|singleline|highlight|constant|keyword|vfsname
    |limit|lint|iotrace|fullschema|filectrl|expert|dbinfo|dbconfig|connection|archive|auth|crlf|crnl|nonce|progress|recover|scanstats|sha3sum
    |selftest|session|safe_mode|edit|cont|utf8|large_number_rendering|decimal_sep|thousand_sep|render_completion|render_errors)\b[^\r\n]*""",
    re.MULTILINE | re.VERBOSE,
)
SENT = re.compile(r"\\g(?:set|exec|x|desc)?\b[^\r\n]*")
EXTENSION = re.compile(r"@(extschema(?::\w+)?)@")
STDIN = re.compile(r"^(COPY\b[^;]{0,2000}\bFROM\s+stdin\b[^;]{0,500};[^\r\n]*)", re.MULTILINE | re.IGNORECASE)
DOT = re.compile(r"^[ \t]*\.[a-zA-Z][^\r\n]*", re.MULTILINE)
DELIMITER = re.compile(r"^[ \t]*DELIMITER[ \t]+([^\s]+)[ \t\r]*$", re.MULTILINE | re.IGNORECASE)
VISIBLE = re.compile(r"[^\r\n]")
DOLLARS = re.compile(r"\$\$([^$]*(?:\$(?!\$)[^$]*)*)\$\$")


def blank(text: str) -> str:
    """Return blanks of the text's length, with the same line breaks."""
    return VISIBLE.sub(" ", text)


def _blank(match: re.Match[str]) -> str:
    return blank(match.group())


def server(text: str, family: str) -> str:
    """Return the text that the server gets, of the same length."""
    if family == "postgres" and "@extschema" in text:
        text = EXTENSION.sub(r"\1  ", text)
    if family == "oracle":
        if "\n/" in text or "/" in text[:4]:
            text = SLASH.sub(r"\1;", text)
        text = SQLPLUS.sub(_blank, text)
        if "$" in text:
            text = CONDITIONAL.sub(_blank, text)
        if "&" in text:
            text = SUBSTITUTION.sub(lambda match: match.group(1).ljust(len(match.group())), text)
        if continued(text):
            text = CONTINUED.sub(" ", text)
    elif family == "postgres" and "\\" in text:
        text = BACKSLASH.sub(_blank, _without_data(text))
        text = COPIED.sub(lambda match: match.group().replace("\\", " ", 1), text)
        text = SENT.sub(lambda match: ";" + blank(match.group()[1:]), text)
    elif family == "teradata" and "." in text:
        text = DOT.sub(_blank, text)
    elif family == "" and (text.startswith(".") or "\n." in text):
        text = SHELL.sub(_blank, text)
    elif family == "tsql" and (":" in text or "!!" in text):
        text = SQLCMD.sub(_blank, text)
    elif family == "mysql" and DELIMITER.search(text):
        text = _delimited(text)
    elif family == "spark" and "$$" in text:
        text = DOLLARS.sub(lambda match: " '" + blank(match.group(1)) + "' ", text)
    return text


def continued(text: str) -> bool:
    """Return whether a line of SQL*Plus goes on in the next."""
    return ("-\n" in text or "-\r" in text or "- " in text) and CONTINUED.search(text) is not None


def ends(text: str, family: str) -> list[int]:
    """Return the places where a statement ends with its line, without a mark."""
    if family != "postgres" or "\\" not in text:
        return []
    return [match.end() for match in COPIED.finditer(text)]


def _without_data(text: str) -> str:
    parts: list[str] = []
    at = 0
    for match in STDIN.finditer(text):
        if match.start() < at:
            continue
        end = text.find("\n\\.", match.end())
        if end < 0:
            break
        parts += [text[at : match.end()], blank(text[match.end() : end + 3])]
        at = end + 3
    return "".join([*parts, text[at:]])


def _delimited(text: str) -> str:
    parts: list[str] = []
    at, mark = 0, ";"
    for match in DELIMITER.finditer(text):
        parts += [_ends(text[at : match.start()], mark), blank(match.group())]
        at, mark = match.end(), match.group(1)
    return "".join([*parts, _ends(text[at:], mark)])


def _ends(text: str, mark: str) -> str:
    """A delimiter at the end of a line becomes `;`; inside a line it may be part of a text."""
    if mark == ";":
        return text
    return re.sub(
        re.escape(mark) + r"(?=[ \t\r]*(?:$|--|#|/\*))", ";" + " " * (len(mark) - 1), text, flags=re.MULTILINE
    )
