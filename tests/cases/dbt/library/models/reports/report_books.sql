{{ config(alias='books') }}
select b.title, b.first_author, s.copies, (select count(*) from {{ ref('fct_holds') }} h where h.book_id = b.book_id) as holds
from {{ ref('dim_books') }} b left join {{ ref('fct_stock') }} s on s.book_id = b.book_id
