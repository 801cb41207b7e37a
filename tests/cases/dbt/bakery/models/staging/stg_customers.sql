select id as customer_id, name as customer_name from {{ source('till', 'raw_customers') }}
