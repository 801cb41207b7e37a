select {{ surrogate_key(['books.book_id', 'books.isbn']) }} as book_key, books.*, first_author.author_name as first_author
from {{ ref('stg_books') }} as books
left join {{ ref('int_first_author') }} as first_author using (book_id)
