{{ config(materialized='incremental', unique_key='loan_id', incremental_strategy='delete+insert') }}

select
    loans.loan_id,
    loans.member_id,
    loans.book_id,
    loans.branch_id,
    loans.lent_at,
    date_diff('day', cast(loans.lent_at as date), cast(coalesce(loans.returned_at, current_date) as date)) as days_out,
    fines.amount as fine
from {{ ref('int_loans_with_book') }} as loans
left join {{ ref('stg_fines') }} as fines using (loan_id)
{% if is_incremental() %}
where loans.lent_at > (select max(lent_at) from {{ this }})
{% endif %}
