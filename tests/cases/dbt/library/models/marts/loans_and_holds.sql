select member_id, loan_id as id, lent_at as at from {{ ref('stg_loans') }} except select member_id, hold_id, placed_at from {{ ref('stg_holds') }}
