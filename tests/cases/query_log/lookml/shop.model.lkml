connection: "warehouse"
include: "/views/*.view.lkml"
include: "/dashboards/**/*.dashboard"   # YAML
week_start_day: monday

datagroup: nightly {
  sql_trigger: SELECT max(id) FROM etl.runs ;;
  max_cache_age: "24 hours"
}

access_grant: finance { user_attribute: department allowed_values: ["finance", "board"] }

explore: orders {
  label: "Orders of @{brand}"
  description: "Every order. \"Gross\"; it's { not } # net"
  always_filter: { filters: [orders.created_date: "7 days", customers.country: "-NULL"] }
  sql_always_where: ${orders.status} <> 'test' -- not # a comment
    AND '}' <> '{' ;;
  join: customers {
    type: left_outer
    relationship: many_to_one
    sql_on: ${orders.customer_id} = ${customers.id} ;;
  }
  join: buyers {
    from: customers
    sql_on: ${orders.buyer_id} = ${buyers.id} ;;
  }
}

explore: recent {
  from: recent_orders
  join: payments { sql: LEFT JOIN shop.payments ON TRUE ;; fields: [payments.amount, -payments.id*] }
}
explore: +recent { label: "Recent orders" }
