select dates.*, date_part('isodow', dates.day) > 5 as is_weekend from {{ ref('shared_calendar', 'dates') }} as dates
