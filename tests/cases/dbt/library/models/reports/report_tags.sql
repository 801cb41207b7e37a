select * from {{ ref('fct_tags') }} order by books desc limit 10
