select activity.*, members.home_city from {{ ref('int_member_activity') }} as activity join {{ ref('dim_members') }} as members using (member_id)
