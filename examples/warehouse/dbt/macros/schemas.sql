{# A model's schema is what it says, and not put behind the target's. #}
{% macro generate_schema_name(custom, node) -%}
  {{ custom or target.schema }}
{%- endmacro %}
