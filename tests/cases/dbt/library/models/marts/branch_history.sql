select * from {{ ref('branches_history') }}
