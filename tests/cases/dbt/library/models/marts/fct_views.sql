{{ config(materialized='incremental') }}

select view_id, member_id, device, milliseconds, cast(viewed_at as date) as viewed_on
from {{ ref('stg_page_views') }}
{% if is_incremental() %}
where view_id not in (select view_id from {{ this }})
{% endif %}
