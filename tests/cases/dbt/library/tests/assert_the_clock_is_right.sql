select current_date as today where current_date < date '2026-01-01'
