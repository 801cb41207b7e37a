select city, list(member_name order by member_name) as members from {{ ref('member_names') }} group by city
