select h.day, h.label, coalesce(l.loans, 0) as loans from {{ ref('shared_calendar', 'members') }} h left join {{ ref('fct_daily_loans') }} l using (day)
