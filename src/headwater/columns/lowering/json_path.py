"""The plain path in an expression that takes a value out of JSON: keys and places, no computed step."""

from typing import Any

from sqlglot import exp

from headwater.columns.form import ANY


def plain_path(node: Any) -> str:
    if not isinstance(node, exp.JSONPath):
        return ""
    steps = [_step(part) for part in node.expressions if not isinstance(part, exp.JSONPathRoot)]
    return ".".join(steps) if all(steps) else ""


def _step(part: Any) -> str:
    if isinstance(part, exp.JSONPathWildcard):
        return ANY
    if not isinstance(part, (exp.JSONPathKey, exp.JSONPathSubscript)):
        return ""
    key = part.this
    if isinstance(key, exp.JSONPathWildcard):
        return ANY
    return key if isinstance(key, str) else f"[{key}]" if isinstance(key, int) else ""
