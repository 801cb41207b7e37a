select member_id, email, dbt_valid_from as valid_from, coalesce(dbt_valid_to, timestamp '9999-12-31') as valid_to from {{ ref('members_history') }}
