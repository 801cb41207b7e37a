{{ config(severity='warn', warn_if='>= 1', tags=['nightly'], meta={'team': 'lending', 'page': false}) }}
select loan_id from {{ ref('int_loans_with_book') }}
