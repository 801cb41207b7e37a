select book_id, unnest(tags) as tag from {{ ref('stg_books') }}
