select distinct date_trunc('month', day) as month, quarter from {{ ref('dates') }}
