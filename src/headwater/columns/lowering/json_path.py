"""The plain path in an expression that takes a value out of JSON: keys alone, no computed step."""

from typing import Any

from sqlglot import exp


def plain_path(node: Any) -> str:
    if isinstance(node, exp.JSONPath):
        keys = [part for part in node.expressions if not isinstance(part, exp.JSONPathRoot)]
        if all(isinstance(part, exp.JSONPathKey) and isinstance(part.this, str) for part in keys):
            return ".".join(part.this for part in keys)
    return ""
