select unpivoted.* from (
    unpivot (select branch_id, weekday, opens, closes from {{ ref('stg_hours') }}) on opens, closes into name edge value at_hour
) as unpivoted
