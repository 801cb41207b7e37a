{% macro union_models(names) %}
{% for name in names %}
select *, '{{ name }}' as came_from from {{ ref(name) }}
{% if not loop.last %}union all by name{% endif %}
{% endfor %}
{% endmacro %}
