select branches.*, sum(hours.hours_open) as weekly_hours
from {{ ref('stg_branches') }} as branches
left join {{ ref('stg_hours') }} as hours using (branch_id)
group by all
