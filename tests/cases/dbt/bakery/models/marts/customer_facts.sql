with customers as (select * from {{ ref('stg_customers') }}),

orders as (select * from {{ ref('order_facts') }})

select
    customers.customer_id,
    customers.customer_name,
    count(orders.order_id) as orders,
    min(orders.ordered_at) as first_ordered_at,
    sum(orders.order_total) as spent,
    case when count(orders.order_id) > 1 then 'returning' else 'new' end as kind
from customers
left join orders on customers.customer_id = orders.customer_id
group by customers.customer_id, customers.customer_name
