{% set methods = ['credit_card', 'coupon'] %}
with payments as (
    select
        order_id,
        {% for method in methods %}
        sum(case when payment_method = '{{ method }}' then amount else 0 end) as {{ method }}_amount,
        {% endfor %}
        sum(amount) as total_amount
    from {{ ref('stg_payments') }}
    group by order_id
)
select o.order_id, o.customer_id, o.order_date, o.status, p.credit_card_amount, p.coupon_amount, p.total_amount as amount
from {{ ref('stg_orders') }} as o
left join payments as p on p.order_id = o.order_id
