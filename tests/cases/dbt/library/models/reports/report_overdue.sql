select l.loan_id, m.member_name, l.due_on from {{ ref('int_open_loans') }} l join {{ ref('members') }} m using (member_id) where l.due_on < current_date
