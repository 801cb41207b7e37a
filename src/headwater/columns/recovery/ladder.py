"""Recover statements that the parser rejects, by several methods in turn; each result states how much it covers.

First the words, if they suffice; then the tokens without irrelevant clauses; then without the failing piece; last
only the tables that the words name. At most `_PARSES` parses a statement; time grows with the statement's length.
"""

from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError, TokenError

from headwater.columns import form
from headwater.columns.dialect import Rules
from headwater.columns.lowering.context import Context
from headwater.columns.lowering.naming import name_outputs
from headwater.columns.lowering.statement import lower_statement, new_context
from headwater.columns.recovery import creation, directly, holding, output, repair, rewriting, scripted, sighting
from headwater.columns.recovery.phrase import Phrase, depths_of, whole, words_of, wordwise
from headwater.columns.result import Level

MOST_TOKENS = 2_000_000
DEEPEST = 400
_PARSES = 4
_INSIDE = 4  # Statements held in one another.
_WORST: list[str] = [Level.FULL, Level.PARTIAL, Level.TABLES, Level.NOTHING]


def read(text: str, tokens: list[Any], dialect: Dialect, rule: Rules) -> form.Lowered:
    """The form of one statement, however it can be had. Never raises."""
    if len(tokens) > MOST_TOKENS:
        return _nothing(rule, f"the statement has more than {MOST_TOKENS:,} tokens")
    try:
        return _Ladder(dialect, rule).whole(text, tokens)
    except Exception as error:  # noqa: BLE001 — the promise is that no text raises; a defect of ours costs one statement
        return _nothing(rule, f"reading the statement failed: {type(error).__name__}: {_first_line(error)}")


def words_only(text: str, tokens: list[Any], rule: Rules, problem: str) -> form.Lowered:
    """The tables that the tokens of a statement name, when it has no end or cannot be parsed."""
    context = new_context(rule)
    phrase = Phrase(tokens, context)
    found = sighting.lowered(phrase)
    context.warn(problem)
    reading = Level.NOTHING if found is None else Level.TABLES
    return _lowered(sighting.kind(phrase), found, context, reading)


def _lowered(kind: str, what: form.Form | None, context: Context, reading: str) -> form.Lowered:
    return form.Lowered(kind, what, context.rule.parser, context.spelling, context.warnings, reading=reading)


def beginning(text: str, dialect: Dialect) -> tuple[list[Any], str]:
    """The tokens of a text the tokenizer gives up on: those before that place, and what it says. The text is whole again where only
    a word it takes for a command was in the way."""
    tokenizer = wordwise(dialect)
    try:
        return list(tokenizer.tokenize(text)), ""
    except (TokenError, RecursionError):
        tokens = list(tokenizer.tokens)
        where = f"line {tokens[-1].line}, column {tokens[-1].col + 1}" if tokens else "its beginning"
        return tokens, f"the text cannot be read on from {where}: a quote or comment has no end"


def _nothing(rule: Rules, problem: str) -> form.Lowered:
    return form.Lowered("UNKNOWN", None, rule.parser, warnings=[problem], reading=Level.NOTHING)


def _is_read_by_words(tree: exp.Expr) -> bool:
    """Return whether it changes a schema or brings a table back, or changes a view and not its query: the parser takes a column's new name for the
    view's."""
    if isinstance(tree, exp.Undrop):
        return True
    if isinstance(tree, (exp.Drop, exp.Create)):
        return str(tree.args.get("kind")).upper() in {"SCHEMA", "DATABASE"}
    actions = list(tree.args.get("actions") or ()) if isinstance(tree, exp.Alter) else []
    return bool(actions) and str(tree.args.get("kind")).upper() == "VIEW" and not isinstance(actions[0], exp.Query)


def _first_line(error: BaseException) -> str:
    if isinstance(error, ParseError) and error.errors:
        first = error.errors[0]
        return f"{_parser_message(first)}. Line {first.get('line')}, Col: {first.get('col')}."
    return (str(error) or type(error).__name__).split("\n", 1)[0]


def _parser_message(error: dict[str, Any]) -> str:
    """The parser's message without its own internals."""
    return str(error.get("description")).split(" but got <Token", 1)[0].split(" for <class", 1)[0]


def _too_deep(text: str, tokens: list[Any]) -> bool:
    if len(tokens) <= 2 * DEEPEST:
        return False
    written = text[tokens[0].start : tokens[-1].end + 1]
    if sum(written.count(bracket) for bracket in "([{") <= DEEPEST:
        return False
    return max(depths_of(words_of(tokens))) > DEEPEST


class _Ladder:
    """One statement's ways down, and the parses it has left."""

    def __init__(self, dialect: Dialect, rule: Rules) -> None:
        self.dialect = dialect
        self.rule = rule
        self.left = _PARSES
        self.inside = 0
        self.error: ParseError | None = None
        self.problem = ""

    def whole(self, text: str, tokens: list[Any]) -> form.Lowered:
        if _too_deep(text, tokens):
            return words_only(text, tokens, self.rule, f"the statement nests deeper than {DEEPEST} brackets")
        return self.statement(text, tokens)

    def statement(self, text: str, tokens: list[Any]) -> form.Lowered:
        """The parser's way if it has one, the others if not."""
        held = text[tokens[0].start : tokens[-1].end + 1] if tokens and self.rule.parser in scripted.PARSERS else ""
        if scripted.may_hold(held):
            phrase = Phrase(tokens, new_context(self.rule))
            tokens = scripted.rewritten(phrase) if scripted.has_script(phrase) else tokens
        if self.rule.parser in output.PARSERS and tokens and output.may_hold(tokens):
            found = self.with_output(text, tokens)
            if found is not None:
                return found
        if tokens and not rewriting.misread(tokens, self.rule.parser):
            found = self.parsed(text, tokens)
            if found is not None:
                return found
        else:
            self.problem = "the statement is not understood"
        problem, error = self.problem, self.error
        tokens = whole(text, tokens, self.dialect)
        context = new_context(self.rule)
        other = self.by_words(text, Phrase(tokens, context), context) if tokens else None
        if other is None and tokens:
            other = self.repaired(text, tokens, problem, error)
        return other or words_only(text, tokens, self.rule, problem or "the statement is not understood")

    def with_output(self, text: str, tokens: list[Any]) -> form.Lowered | None:
        """A statement with OUTPUT clauses, and the rows they put into tables; None if there is no such clause."""
        context = new_context(self.rule)
        left, clauses = output.cut(Phrase(tokens, context))
        if not clauses:
            return None
        found = self.statement(text, left)
        forms = [found.form] if found.form is not None else []
        for clause in clauses:
            if not clause.target.name:
                continue
            self.left += 1
            listed = self.parsed(text, clause.query)
            query = listed.form.query if listed is not None and isinstance(listed.form, form.QueryForm) else None
            made = output.logged(forms[0], clause, query) if forms and isinstance(query, form.Select) else None
            if made is None or listed is None:
                found.warnings.append(f"what goes into {'.'.join(clause.target.name)} by OUTPUT is not understood")
                made = form.WriteForm(clause.target, "APPEND", form.Values([]))
            else:
                found.warnings += listed.warnings
                found.spelling = {**listed.spelling, **found.spelling}
            forms.append(made)
        found.spelling = {**context.spelling, **found.spelling}
        found.form = form.SeveralForm(forms) if len(forms) > 1 else found.form
        return found

    def parsed(self, text: str, tokens: list[Any]) -> form.Lowered | None:
        """Return the form that parsing gives, None when it gives nothing of use; `problem` then says why."""
        self.error, self.problem = None, "the statement is not understood"
        if not tokens or self.left <= 0:
            return None
        self.left -= 1
        try:
            trees = self.dialect.parser().parse(tokens, text)
            tree = trees[0] if len(trees) == 1 else None
            if tree is None or isinstance(tree, exp.Command):
                return None
            if isinstance(tree, (exp.Describe, exp.Execute, exp.Refresh)) or _is_read_by_words(tree):
                context = new_context(self.rule)
                words = whole(text, tokens, self.dialect)
                other = self.by_words(text, Phrase(words, context), context)
                if other is not None and other.form is not None:
                    return other
            lowered = lower_statement(tree, self.rule)
            if lowered.form is not None:
                name_outputs(lowered.form, tokens, text, self.rule.parser)
        except ParseError as error:
            self.error, self.problem = error, _first_line(error)
            return None
        except (SqlglotError, RecursionError) as error:
            self.problem = "the statement nests too deep" if isinstance(error, RecursionError) else _first_line(error)
            return None
        except Exception as error:  # noqa: BLE001 — a text may meet a defect of the parser's or ours; the others are read on
            self.problem = f"reading the statement failed: {type(error).__name__}: {_first_line(error)}"
            return None
        if lowered.kind == "UNKNOWN":
            return None
        return lowered

    def by_words(self, text: str, phrase: Phrase, context: Context) -> form.Lowered | None:
        """Return what the words give without a parse of the whole: a form, or statements held inside; None when they give nothing."""
        held = holding.held(phrase) if self.inside < _INSIDE else None
        if held is not None:
            self.inside += 1
            return self.held(text, held, context)
        found = directly.read(phrase) or creation.other_object(phrase)
        if found is None:
            created = creation.head(phrase)
            if created is None or creation.query_place(phrase, created.after_name) >= 0:
                return None
            found = creation.bare(phrase, created)
        kind, what = found
        return _lowered(kind, what, context, Level.FULL)

    def held(self, text: str, held: holding.Held, context: Context) -> form.Lowered:
        forms: list[form.Form] = []
        reading: str = Level.FULL
        for inner in held.inner:
            if isinstance(inner, str):
                tokens, problem = beginning(inner, self.dialect)
                if problem:
                    context.warn(problem)
                    continue
                found = self.statement(inner, tokens) if tokens else _nothing(self.rule, "it is empty")
            elif inner:
                found = self.statement(text, inner)
            else:
                continue
            reading = max(reading, found.reading, key=_WORST.index)
            context.spelling.update(found.spelling)
            for warning in found.warnings:
                context.warn(warning)
            if found.form is not None:
                forms.append(found.form)
        return _lowered(held.kind, held.build(forms), context, reading)

    def repaired(self, text: str, tokens: list[Any], problem: str, error: ParseError | None) -> form.Lowered | None:
        """Parse the tokens without irrelevant clauses, then without the failing piece."""
        context = new_context(self.rule)
        simple, kind = rewriting.simplified(Phrase(tokens, context))
        warnings = list(context.warnings)
        if len(simple) != len(tokens) or any(a is not b for a, b in zip(simple, tokens, strict=True)):
            found = self.parsed(text, simple)
            error = self.error
        else:
            found = self.parsed(text, simple) if self.left == _PARSES else None
            error = self.error or error
        while found is None and error is not None and error.errors and self.left > 0:
            first = error.errors[0]
            line, column = first.get("line"), first.get("col")
            if line is None or column is None:
                return None
            leftover = str(first.get("description")).startswith("Invalid expression / Unexpected token")
            phrase = Phrase(simple, context)
            less = repair.repaired(phrase, line, column, leftover)
            if less is None:
                return None
            start = phrase.tokens[less.start]
            warnings.append(
                f"{less.what} at line {start.line}, column {start.col - len(start.text) + 1} is not read: {_parser_message(first)}"
            )
            simple = less.tokens
            found, error = self.parsed(text, simple), self.error
        if found is None:
            return None
        found.kind = kind or found.kind
        if "MATERIALIZED" in kind and isinstance(found.form, form.WriteForm):
            found.form.view = "materialized"
        if isinstance(found.form, (form.WriteForm, form.UpdateForm)):
            found.form.target.evolves = rewriting.evolves(Phrase(tokens, context))
        found.warnings += warnings
        return found
