select loans.loan_id
from {{ ref('fct_loans') }} as loans
left join {{ ref('dim_books') }} as books using (book_id)
where books.book_id is null
