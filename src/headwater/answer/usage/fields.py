"""Fields that an answer shares with a measurement facet."""

from typing import Any

import msgspec


def shared_fields(answer: type[msgspec.Struct], facet: msgspec.Struct) -> dict[str, Any]:
    """The facet's values of the fields that the answer has, too."""
    names = set(facet.__struct_fields__) & set(answer.__struct_fields__)
    return {name: getattr(facet, name) for name in names}
