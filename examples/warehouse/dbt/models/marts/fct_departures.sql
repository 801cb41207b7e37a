{{ config(materialized='incremental', unique_key='departure_id', on_schema_change='append_new_columns') }}

select d.*, a.airport_name as dest_name
from {{ ref('departures_with_weather') }} as d
left join {{ ref('stg_airports') }} as a on a.airport = d.dest
{% if is_incremental() %}
where d.flown_on > (select max(flown_on) from {{ this }})
{% endif %}
