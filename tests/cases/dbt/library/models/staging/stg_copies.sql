with source as (
    select * from {{ source('raw', 'copies') }}
),

renamed as (
    select
        id as copy_id,
        book_id,
        branch_id,
        bought_on
    from source
)

select * from renamed
