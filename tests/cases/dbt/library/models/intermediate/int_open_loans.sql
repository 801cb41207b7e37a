select * exclude (is_open, returned_at) from {{ ref('stg_loans') }} where is_open
