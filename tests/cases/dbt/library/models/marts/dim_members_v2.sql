select members.* exclude (email, first_name, last_name), md5(email) as email_hash, branches.city as home_city
from {{ ref('members') }} as members
left join {{ ref('stg_branches') }} as branches on branches.branch_id = members.home_branch_id
