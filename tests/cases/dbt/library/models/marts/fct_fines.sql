select member_id, sum(amount) filter (where is_paid) as paid, sum(amount) filter (where not is_paid) as open
from {{ ref('stg_fines') }} join {{ ref('stg_loans') }} using (loan_id) group by member_id
