{% snapshot members_history %}
{{ config(strategy='timestamp', unique_key='member_id', updated_at='changed_at') }}
select member_id, email, changed_at from {{ ref('members') }}
{% endsnapshot %}
