select loans.*, copies.book_id, copies.branch_id
from {{ ref('stg_loans') }} as loans
join {{ ref('stg_copies') }} as copies using (copy_id)
