with source as (
    select * from {{ source('raw', 'hours') }}
),

renamed as (
    select
        branch_id,
        weekday,
        opens,
        closes,
        closes - opens as hours_open
    from source
)

select * from renamed
