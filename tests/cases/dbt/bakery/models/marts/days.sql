select cast(range as date) as date_day from range(date '2026-11-01', date '2026-12-01', interval 1 day)
