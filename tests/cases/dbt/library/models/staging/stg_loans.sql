with source as (
    select * from {{ source('raw', 'loans') }}
),

renamed as (
    select
        id as loan_id,
        copy_id,
        member_id,
        lent_at,
        due_on,
        returned_at,
        returned_at is null as is_open
    from source
)

select * from renamed
