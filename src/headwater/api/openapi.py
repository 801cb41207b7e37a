"""The OpenAPI document: its head, and the schemas that the types do not show."""

from typing import Any

import msgspec
from litestar._openapi.schema_generation import SchemaCreator
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.spec import Components, OpenAPIType, Schema, SecurityScheme, Server
from litestar.plugins import OpenAPISchemaPlugin
from litestar.typing import FieldDefinition

from headwater import __version__


def config(root_path: str = "") -> OpenAPIConfig:
    """Return the document's head, served at `/schema`. `root_path`: the proxy's path to the server, such as `/lineage`; empty for the root."""
    return OpenAPIConfig(
        "Headwater",
        __version__,
        path="/schema",
        servers=[Server(url=root_path or "/")],
        components=Components(security_schemes={"key": SecurityScheme(type="http", scheme="bearer")}),
        security=[{"key": []}],
    )


class VerbatimJson(OpenAPISchemaPlugin):
    """Describes a verbatim facet as any JSON object."""

    @staticmethod
    def is_plugin_supported_type(value: Any) -> bool:
        return value is msgspec.Raw

    def to_openapi_schema(self, field_definition: FieldDefinition, schema_creator: SchemaCreator) -> Schema:
        return Schema(type=OpenAPIType.OBJECT, description="As it was received.")
