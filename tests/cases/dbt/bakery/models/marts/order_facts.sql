select
    orders.order_id,
    orders.customer_id,
    orders.ordered_at,
    orders.subtotal,
    orders.subtotal + orders.tax_paid as order_total,
    totals.items_price,
    totals.drinks > 0 as has_drinks
from {{ ref('stg_orders') }} as orders
left join {{ ref('int_order_totals') }} as totals on orders.order_id = totals.order_id
