select
    member_id,
    struct_pack(name := member_name, city := home_city) as person,
    list(distinct loans.book_id) as books
from {{ ref('dim_members', v=2) }}
left join {{ ref('fct_loans') }} as loans using (member_id)
group by all
