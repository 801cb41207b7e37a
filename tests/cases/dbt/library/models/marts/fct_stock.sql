with counted as (
    select book_id, branch_id, count(*) as copies from {{ ref('stg_copies') }} group by book_id, branch_id
)
select counted.*, copies < {{ var('low_stock') }} as is_low from counted
