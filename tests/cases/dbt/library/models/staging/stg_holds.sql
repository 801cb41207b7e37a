with source as (
    select * from {{ source('raw', 'holds') }}
),

renamed as (
    select
        id as hold_id,
        book_id,
        member_id,
        placed_at
    from source
)

select * from renamed
