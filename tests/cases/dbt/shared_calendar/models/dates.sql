select cast(range as date) as day, {{ quarter_of('range') }} as quarter from range(timestamp '2026-01-01', timestamp '2026-02-01', interval 1 day)
