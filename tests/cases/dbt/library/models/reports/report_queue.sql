select q.*, b.title from {{ ref('fct_holds') }} q join {{ ref('dim_books') }} b using (book_id)
