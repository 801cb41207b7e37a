with source as (
    select * from {{ source('raw', 'branches') }}
),

renamed as (
    select
        id as branch_id,
        name as branch_name,
        city,
        opened as opened_on
    from source
)

select * from renamed
