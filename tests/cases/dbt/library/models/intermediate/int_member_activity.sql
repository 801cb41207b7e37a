select member_id, lent_at as happened_at, 'loan' as activity from {{ ref('stg_loans') }}
union all
select member_id, placed_at, 'hold' from {{ ref('stg_holds') }}
union all
select member_id, viewed_at, 'view' from {{ ref('stg_page_views') }}
