select book_id, author_name
from {{ ref('stg_book_authors') }}
join {{ ref('stg_authors') }} using (author_id)
qualify row_number() over (partition by book_id order by author_position) = 1
