"""What OpenAPI cannot read out of the types by itself."""

from typing import Any

import msgspec
from litestar._openapi.schema_generation import SchemaCreator
from litestar.openapi.spec import OpenAPIType, Schema
from litestar.plugins import OpenAPISchemaPlugin
from litestar.typing import FieldDefinition


class VerbatimJson(OpenAPISchemaPlugin):
    """A facet is shown as it came: any JSON object."""

    @staticmethod
    def is_plugin_supported_type(value: Any) -> bool:
        return value is msgspec.Raw

    def to_openapi_schema(self, field_definition: FieldDefinition, schema_creator: SchemaCreator) -> Schema:
        return Schema(type=OpenAPIType.OBJECT, description="As it was received.")
