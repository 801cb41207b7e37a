"""The settings in a model's text that decide about its rows, and the queries that it runs: at its first build, and where it is incremental later."""

import re

import msgspec

_CONFIG = re.compile(r"\{\{-?\s*config\s*\(.*?\)\s*-?\}\}", re.DOTALL)
_HARMLESS = re.compile(
    r",?\b(?:on_schema_change|tags|meta|docs|persist_docs|grants|group|access|indexes|unlogged|query_tag|labels)="
    r"(?:'[^']*'|\"[^\"]*\"|\[[^\[\]{}]*\]|\{[^\[\]{}]*\}|\w+)(?=[,)])"
)
"""Settings of a model that do not decide about its rows; that of new columns does only where columns change, which is seen itself."""
_DEFAULT_STRATEGIES = {
    "postgres": "delete+insert",
    "redshift": "delete+insert",
    "snowflake": "merge",
    "bigquery": "merge",
}
"""The strategy of an incremental model with a unique key, by dialect, as dbt's adapters document them."""
_INCREMENTAL = re.compile(
    r"\{%-?\s*if\s+is_incremental\(\)\s*-?%\}(?P<yes>(?:(?!\{%).)*)(?:\{%-?\s*else\s*-?%\}(?P<no>(?:(?!\{%).)*))?\{%-?\s*endif\s*-?%\}",
    re.DOTALL,
)


class ModelText(msgspec.Struct, frozen=True):
    """`settings`: those that decide about rows, in one writing. `queries`: of later builds and of the first one, once where they are the same."""

    settings: tuple[str, ...]
    queries: tuple[str, ...]

    @property
    def is_incremental(self) -> bool:
        return any("incremental" in one for one in self.settings) or len(self.queries) > 1


def read_model_text(text: str, dialect: str) -> ModelText:
    """Read `config` and `is_incremental` of a text; other templates stay in its queries."""
    settings = tuple(_written_config(one, dialect) for one in _CONFIG.findall(text))
    text = _CONFIG.sub("", text)
    later, first = _INCREMENTAL.sub(lambda one: one["yes"], text), _INCREMENTAL.sub(lambda one: one["no"] or "", text)
    return ModelText(settings, (later,) if later == first else (later, first))


def _written_config(config: str, dialect: str) -> str:
    """Return a configuration without what does not decide about rows, and without the strategy that dbt takes by default."""
    written = _HARMLESS.sub("", re.sub(r"\s", "", config))
    if "unique_key=" in written and (default := _DEFAULT_STRATEGIES.get(dialect)):
        written = re.sub(rf",?incremental_strategy=(['\"]){re.escape(default)}\1", "", written)
    return written.replace("(,", "(")
