select tag, count(*) as books from {{ ref('int_book_tags') }} group by tag
