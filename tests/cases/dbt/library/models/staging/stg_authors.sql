with source as (
    select * from {{ source('raw', 'authors') }}
),

renamed as (
    select
        id as author_id,
        full_name as author_name,
        born
    from source
)

select * from renamed
