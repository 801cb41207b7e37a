{% macro cents_to_units(column, digits=2) %}round({{ column }} / 100.0, {{ digits }}){% endmacro %}

{% macro surrogate_key(columns) -%}
md5(concat_ws('|'{% for column in columns %}, cast({{ column }} as varchar){% endfor %}))
{%- endmacro %}
