with source as (
    select * from {{ source('raw', 'page_views') }}
),

renamed as (
    select
        id as view_id,
        member_id,
        path,
        viewed_at,
        json_extract_string(details, '$.device') as device,
        cast(json_extract(details, '$.ms') as integer) as milliseconds
    from source
)

select * from renamed
