project_name: "shop"

constant: schema {
  value: "acme.shop"
  export: override_optional
}
constant: brand { value: "Acme" }
