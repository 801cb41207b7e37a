with source as (
    select * from {{ source('raw', 'books') }}
),

renamed as (
    select
        id as book_id,
        title,
        isbn,
        published,
        {{ cents_to_units('price_cents') }} as price,
        string_split(tags, ';') as tags
    from source
)

select * from renamed
