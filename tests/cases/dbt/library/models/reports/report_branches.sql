select branch_name, city, weekly_hours, count(loan_id) as loans, avg(days_out) as mean_days from {{ ref('dim_branches') }} left join {{ ref('fct_loans') }} using (branch_id) group by all
