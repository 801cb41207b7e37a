{% macro quarter_of(column) %}date_part('quarter', {{ column }}){% endmacro %}
