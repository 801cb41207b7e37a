view: customers {
  sql_table_name: {% if _user_attributes['dev'] == 'yes' %} dev.customers {% else %} @{schema}.customers {% endif %} ;;
  dimension: id { hidden: yes }
}
view: payments { extension: required }
view: recent_orders {
  extends: [payments]
  derived_table: {
    datagroup_trigger: nightly
    sql: WITH latest AS (SELECT customer, max(id) AS id FROM ${orders.SQL_TABLE_NAME} GROUP BY 1)
      SELECT * -- not from nowhere
      FROM latest l, "Shop"."Days" d JOIN shop.refunds AS r ON r.id = d.id ;;
  }
}
