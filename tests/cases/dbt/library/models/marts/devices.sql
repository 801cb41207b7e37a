pivot (select device, milliseconds from {{ ref('fct_views') }}) on device in ('phone', 'desk') using sum(milliseconds)
