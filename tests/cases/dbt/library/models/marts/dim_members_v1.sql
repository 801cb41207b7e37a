select member_id, member_name, joined_on from {{ ref('members') }}
