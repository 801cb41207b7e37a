{{ config(alias='holidays') }}
select day, 'new year' as label from {{ ref('dates') }} where day = date '2026-01-01'
