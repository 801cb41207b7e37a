view: orders {
  sql_table_name: `@{schema}.orders` ;;
  drill_fields: [id, created_date,]

  dimension: id { primary_key: yes type: number sql: ${TABLE}.id ;; }
  dimension_group: created {
    type: time
    timeframes: [raw, date, week]
    sql: ${TABLE}.created_at ;;
  }
  dimension: status {
    case: {
      when: { sql: ${TABLE}.status = 0 ;; label: "open" }
      else: "other"
    }
    html: {% if value == 'open' %}<b>{{ rendered_value }}</b>{% else %}{{ value }}{% endif %} ;;
    link: { label: "Look" url: "https://shop.example/orders?q={{ value }}" icon_url: "https://shop.example/favicon.ico" }
  }
  measure: total { type: sum sql: ${TABLE}.amount ;; value_format: "#,##0.00 \"EUR\"" }
}
