select
    items.order_id,
    sum(products.product_price) as items_price,
    count(*) as items,
    sum(case when products.is_drink then 1 else 0 end) as drinks
from {{ ref('stg_items') }} as items
left join {{ ref('stg_products') }} as products on items.product_id = products.product_id
group by items.order_id
