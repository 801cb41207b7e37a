select * from {{ ref('dim_members', v=1) }} where joined_on < '2025-01-01'
