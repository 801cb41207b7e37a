select distinct member_id from {{ ref('int_member_activity') }} where happened_at >= '{{ var("first_day") }}'
