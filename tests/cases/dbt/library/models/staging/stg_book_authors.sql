with source as (
    select * from {{ source('raw', 'book_authors') }}
),

renamed as (
    select
        book_id,
        author_id,
        position as author_position
    from source
)

select * from renamed
