select months.month, sum(loans) as loans from {{ ref('months') }} join {{ ref('fct_daily_loans') }} on date_trunc('month', day) = months.month group by months.month
