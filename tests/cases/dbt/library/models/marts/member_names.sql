select member_id, person.name as member_name, person['city'] as city, len(books) as books_read from {{ ref('member_profile') }}
