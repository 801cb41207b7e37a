"""Libraries that the extra `fingerprint` brings, imported when the first file needs them, and named with the cure when they are missing."""

from importlib import import_module
from typing import Any

from headwater.errors import NotInstalled


def part(module: str) -> Any:
    """The module, or NotInstalled with the command that brings it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise NotInstalled(
            f"fingerprints need {error.name}: pip install 'headwater[fingerprint]'",
            extra="fingerprint",
            missing=[error.name],
        ) from None
