"""`${name}` in a manifest: one small language, and a precise error for an unknown name.

`${name:-text}` is `text` where nothing defines `name`. `$${` is a literal `${`. There are no expressions and no nesting.
"""

import re
from collections.abc import Callable, Mapping

from headwater.runner.document import suggestion

_REFERENCE = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")


class UnknownName(ValueError):
    """The text refers to a name that has no value, or is not closed."""


class MissingName(UnknownName):
    """The text refers to a name that nothing defines."""


def interpolate(text: str, lookup: Callable[[str], str]) -> str:
    """Replace every `${name}` in `text` by `lookup(name)`, which raises UnknownName."""

    def value(match: re.Match[str]) -> str:
        if match[0] == "$${":
            return "${"
        if not match[2]:
            raise UnknownName(f"{match[0]!r} is not closed with a brace; write $${{ for a literal ${{")
        name, default, text = match[1].partition(":-")
        try:
            return lookup(name.strip())
        except MissingName:
            if default:
                return text
            raise

    return _REFERENCE.sub(value, text)


class Names:
    """The names for `${…}`: parameters (which may refer to each other), then the environment; later inputs.x and outputs.x."""

    def __init__(self, parameters: Mapping[str, str], environ: Mapping[str, str]) -> None:
        self._raw = dict(parameters)
        self._environ = environ
        self._places: dict[str, str] = {}
        self._resolving: list[str] = []

    def place(self, name: str, value: str) -> None:
        """Add `inputs.x` or `outputs.x`."""
        self._places[name] = value

    def resolve(self, text: str) -> str:
        """Return a name's value. Raises UnknownName, also for parameters that refer to each other in a circle."""
        return interpolate(text, self._value)

    @property
    def places(self) -> dict[str, str]:
        return dict(self._places)

    def _value(self, name: str) -> str:
        if name in self._raw:
            if name in self._resolving:
                circle = " → ".join([*self._resolving, name])
                raise UnknownName(f"the parameters refer to each other in a circle: {circle}")
            self._resolving.append(name)
            try:
                return interpolate(self._raw[name], self._value)
            finally:
                self._resolving.pop()
        if name in self._places:
            return self._places[name]
        if name in self._environ:
            return self._environ[name]
        known = [*self._raw, *self._places]
        raise MissingName(
            f"${{{name}}} is neither a parameter, an input or output, nor an environment variable{suggestion(name, known)}"
        )
