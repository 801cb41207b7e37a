select * replace (upper(label) as label) from {{ ref('genres') }}
