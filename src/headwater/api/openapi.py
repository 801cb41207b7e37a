"""The OpenAPI document: what heads it, and what cannot be read out of the types."""

from typing import Any

import msgspec
from litestar._openapi.schema_generation import SchemaCreator
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.spec import Components, OpenAPIType, Schema, SecurityScheme, Server
from litestar.plugins import OpenAPISchemaPlugin
from litestar.typing import FieldDefinition

from headwater import __version__


def config(root_path: str = "") -> OpenAPIConfig:
    """The document's head, served at `/schema`. `root_path`: where a proxy has the server, such as `/lineage`; empty for its root."""
    return OpenAPIConfig(
        "Headwater",
        __version__,
        path="/schema",
        servers=[Server(url=root_path or "/")],
        components=Components(security_schemes={"key": SecurityScheme(type="http", scheme="bearer")}),
        security=[{"key": []}],
    )


class VerbatimJson(OpenAPISchemaPlugin):
    """A facet is shown as it came: any JSON object."""

    @staticmethod
    def is_plugin_supported_type(value: Any) -> bool:
        return value is msgspec.Raw

    def to_openapi_schema(self, field_definition: FieldDefinition, schema_creator: SchemaCreator) -> Schema:
        return Schema(type=OpenAPIType.OBJECT, description="As it was received.")
