with recursive chain as (
    select loan_id, copy_id, lent_at, 1 as depth from {{ ref('stg_loans') }}
    union all
    select next.loan_id, next.copy_id, next.lent_at, chain.depth + 1
    from chain join {{ ref('stg_loans') }} as next on next.copy_id = chain.copy_id and next.lent_at > chain.lent_at
)
select copy_id, max(depth) as times_lent from chain group by copy_id
