{{ config(materialized='view') }}
select came_from, count(*) as entries, max(viewed_on) as last_viewed from {{ ref('all_activity') }} group by came_from
