with source as (
    select * from {{ source('raw', 'fines') }}
),

renamed as (
    select
        id as fine_id,
        loan_id,
        {{ cents_to_units('amount_cents') }} as amount,
        paid as is_paid
    from source
)

select * from renamed
