{{ config(materialized='incremental', unique_key='day') }}

select cast(lent_at as date) as day, count(*) as loans, count(distinct member_id) as members
from {{ ref('fct_loans') }}
{% if is_incremental() %}
where cast(lent_at as date) >= (select coalesce(max(day), date '1970-01-01') from {{ this }})
{% endif %}
group by 1
