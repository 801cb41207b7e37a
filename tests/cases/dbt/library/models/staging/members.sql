with source as (
    select * from {{ source('raw', 'members') }}
),

renamed as (
    select
        id as member_id,
        lower(email) as email,
        first_name,
        last_name,
        first_name || ' ' || last_name as member_name,
        joined_on,
        home_branch as home_branch_id,
        changed_at
    from source
)

select * from renamed
