---
- dashboard: sales
  title: "Sales of @{brand}"
  layout: newspaper
  elements:
  - name: revenue
    model: shop
    explore: orders
    type: looker_line
    fields: [orders.created_date, orders.total]
  - name: note
    type: text
- dashboard: returns/2026
  title: Returns
  elements: []
