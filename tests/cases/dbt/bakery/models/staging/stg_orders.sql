select
    id as order_id,
    customer as customer_id,
    cast(ordered_at as date) as ordered_at,
    subtotal / 100.0 as subtotal,
    tax_paid / 100.0 as tax_paid
from {{ source('till', 'raw_orders') }}
