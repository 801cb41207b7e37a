select holds.*, rank() over (partition by book_id order by placed_at) as place_in_queue,
    lag(holds.member_id) over (partition by book_id order by placed_at) as behind_member_id
from {{ ref('stg_holds') }} as holds
