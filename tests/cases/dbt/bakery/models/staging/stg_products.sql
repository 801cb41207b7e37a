with source as (

    select * from {{ source('till', 'raw_products') }}

),

renamed as (

    select
        sku as product_id,
        name as product_name,
        type as product_type,
        price / 100.0 as product_price,
        coalesce(type = 'beverage', false) as is_drink
    from source

)

select * from renamed
